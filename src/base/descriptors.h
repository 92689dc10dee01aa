// SPDX-License-Identifier: BSD-3-Clause
//
// How many files this process may still open: who takes the last descriptors breaks others who need one later. And
// whether a descriptor is still the one that it was: a program may close all that it does not know. And writing what
// must not end the process.
#ifndef CASTOFF_BASE_DESCRIPTORS_H
#define CASTOFF_BASE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Counted up to `wanted`; opens none itself. Any thread, but what others open meanwhile is not in it.
int co_descriptors_left(int wanted);
// The limit of this process (ulimit -n), for messages; INT_MAX: none.
int co_descriptors_limit(void);

// The file behind a descriptor, by which its number is known again. All of the kernel's anonymous kind (eventfd, before
// Linux 6.9 pidfd) have one inode: such a one of ours is marked, by the number of a signal that is never sent; sockets
// are, too, for that takes the kernel less time to tell.
struct co_descriptor_file {
    dev_t device;
    ino_t inode;
    int mark; // 0: known by its inode
};

int co_descriptor_note(int fd, struct co_descriptor_file *file); // 0 or -errno
// False: it was closed, and its number may be another file's. One system call.
bool co_descriptor_is_of(int fd, const struct co_descriptor_file *file);
// Closes it, unless it is another file's; -1 afterwards.
void co_descriptor_close(int *fd, const struct co_descriptor_file *file);

// To a number that files which the program opens come to late: for those that are used without a look each time. Its
// new number, or the old one.
int co_descriptor_raise(int fd);

// Where the program has closed its standard streams their numbers are the next that files get: between these two no
// file gets them. One thread.
void co_descriptors_keep_streams(void);
void co_descriptors_give_streams(void);

// One of our own that stays open, with its file. fd -1: there is none.
struct co_descriptor_kept {
    int fd;
    struct co_descriptor_file file;
};

void co_descriptor_keep(struct co_descriptor_kept *kept, int fd); // -1, or one that has no file: there is none
// False: the program has closed it, and its number, which may be another file's, is forgotten.
bool co_descriptor_is_kept(struct co_descriptor_kept *kept);
void co_descriptor_drop(struct co_descriptor_kept *kept); // closes it, unless it is another file's

// All of it, as write(2). 0 or -errno: neither a reader who has gone (SIGPIPE) nor a limit of file sizes (SIGXFSZ) is
// told to the program by a signal. Any thread.
int co_descriptor_write(int fd, const void *bytes, size_t count);

#endif
