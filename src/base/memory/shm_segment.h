// SPDX-License-Identifier: BSD-3-Clause
//
// The only door to memory that ranks of a node share. A segment is made by one process of a node, mapped by the others
// by name, and unlinked as soon as all have it, so that nothing stays behind when ranks die. Who dies between is
// cleared up after by the next who makes one: its maker holds a lock on a named segment. (Without a name, by
// memfd_create or O_TMPFILE, others would have to come by /proc/PID/fd, which ranks in containers of their own, who
// share /dev/shm alone, do not have.) Set-up only.
#ifndef CASTOFF_BASE_MEMORY_SHM_SEGMENT_H
#define CASTOFF_BASE_MEMORY_SHM_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#define CO_SHM_NAME_MAX 64

struct co_shm_segment {
    void *base;
    size_t bytes;
    char name[CO_SHM_NAME_MAX]; // "" after co_shm_segment_unlink
    int locked;                 // as long as it has one: a descriptor plus one, for who made it
};

// What the MPI below may come to need for each rank in the same /dev/shm: a segment of Open MPI's vader, of which it
// uses next to nothing at first.
#define CO_SHM_NATIVE_BYTES ((size_t)4 << 20)

// "/castoff-<16 hex digits of key>-<number>"
void co_shm_segment_name(char name[CO_SHM_NAME_MAX], uint64_t key, unsigned number);

// Creates exclusively (mode 0600), sparse and zeroed, and removes names that dead processes of ours have left. -EEXIST,
// -ENOSPC, -ENOMEM, ... others_bytes are what others will still need in the file system: -ENOSPC where that would not
// stay free, the limit of file sizes (ulimit -f) is lower, or much of a limit of addresses (ulimit -v) would be taken.
int co_shm_segment_create(struct co_shm_segment *segment, const char *name, size_t bytes, size_t others_bytes);

// Bytes that a segment may have where others still need so many; SIZE_MAX: no limit is set.
size_t co_shm_segment_room(size_t others_bytes);

// Maps one that exists; its size must be at least `bytes`, its owner our user, and nobody else may have a way to it.
// -ENOENT, -EINVAL, -EPERM.
int co_shm_segment_attach(struct co_shm_segment *segment, const char *name, size_t bytes);

// Zeroes; pages that have nothing else are given back.
void co_shm_segment_erase(char *first, size_t length);

// Removes the name; the mappings stay.
void co_shm_segment_unlink(struct co_shm_segment *segment);

// Unmaps; unlinks too if that has not happened.
void co_shm_segment_close(struct co_shm_segment *segment);

// Makes pages of a segment exist: 0, or -ENOMEM where /dev/shm is full, which a store would meet as a signal.
int co_shm_segment_touch(char *first, size_t length);

// Reads own memory, of whatever kind, into its own place, so that what others have written there counts as written for
// a tool that watches this process. What is not there is left alone.
void co_shm_segment_see(char *first, size_t length);

#endif
