// SPDX-License-Identifier: BSD-3-Clause
//
// What waiting callers sleep on while worker threads move their operations: a descriptor for each of them, so that one
// who wakes never takes away what another one is to hear. Who finds none free has his timer.
//
// A caller takes one and then looks whether what he waits for has happened; who makes it happen signals it afterwards.
// All of it is sequentially consistent: with less, both could see the old value, and the end would be slept over.
#ifndef CASTOFF_ENGINE_PROGRESS_WAKE_FDS_H
#define CASTOFF_ENGINE_PROGRESS_WAKE_FDS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/descriptors.h"

#define CO_WAKE_FDS 16 // callers of one process that sleep at a time

struct co_wake_fds {
    struct co_wake_fd {
        _Atomic bool is_taken;
        _Atomic int fd;                 // made at the first use, -1 before; -2: the program has closed it
        struct co_descriptor_file file; // behind it, from the making on
    } wake_fds[CO_WAKE_FDS];
    int most; // that are made
};

// Makes the first one; `most` there will be, at least 1. 0 or -errno.
int co_wake_fds_open(struct co_wake_fds *wake_fds, int most);
void co_wake_fds_close(struct co_wake_fds *wake_fds);

// Any thread. Its number, or -1: none is free. One that the program has closed is given to nobody any more.
int co_wake_fds_take(struct co_wake_fds *wake_fds);
// Readable once it is signalled.
int co_wake_fds_descriptor(struct co_wake_fds *wake_fds, int wake_fd);
// `was_woken`: it may be signalled, and shall not be for the next caller. (Where it does, that one looks for nothing.)
void co_wake_fds_give(struct co_wake_fds *wake_fds, int wake_fd, bool was_woken);

// Any thread: all that are taken.
void co_wake_fds_signal(struct co_wake_fds *wake_fds);

#endif
