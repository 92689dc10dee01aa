// SPDX-License-Identifier: BSD-3-Clause
//
// Tells whether the memory behind an address is still what it was: for those who keep something of a program's memory
// that is only good as long (registrations with an RDMA device). The kernel tells of munmap, mremap, brk, of mappings
// put in the place of others, and of madvise that gives pages back, whoever calls them, the C library's allocator
// included (userfaultfd(2), events). The caller of those waits until a thread of the watch has heard of it, so what it
// does next finds the place changed. That thread waits for nobody, allocates nothing, and sleeps otherwise. Also what
// a fork may have copied counts as changed.
//
// Only private anonymous memory can be watched: other changes, to files and shared memory, are told by nobody.
// Set-up and add are cold; is_same is a few loads. One thread at a time but where it says otherwise.
#ifndef CASTOFF_BASE_MEMORY_MEMORY_WATCH_H
#define CASTOFF_BASE_MEMORY_MEMORY_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#define CO_MEMORY_WATCH_PLACES 64

struct co_memory_watch;

// One in a process. 0; -EBUSY: there is one; -ENOSYS, -EPERM, -ENOTSUP: the kernel does not tell, or not us; or no
// memory, descriptor or thread.
int co_memory_watch_open(struct co_memory_watch **out);
// Whole pages, which all have to be mapped. Their number (0 ... CO_MEMORY_WATCH_PLACES - 1); -ENOTSUP: memory of
// another kind; -ENOSPC, or another -errno of the kernel's. What changes before this returns may have been missed.
int co_memory_watch_add(struct co_memory_watch *watch, const void *start, size_t bytes);
// Nothing of it has changed since it was added. Any thread.
bool co_memory_watch_is_same(const struct co_memory_watch *watch, int place);
void co_memory_watch_drop(struct co_memory_watch *watch, int place);
void co_memory_watch_close(struct co_memory_watch *watch);

#endif
