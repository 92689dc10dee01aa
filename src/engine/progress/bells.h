// SPDX-License-Identifier: BSD-3-Clause
//
// What waiting callers sleep on while worker threads move their operations: a bell for each of them, so that one who
// wakes never takes away what another one is to hear. Who finds no bell free has his timer.
//
// A caller takes a bell and then looks whether what he waits for has happened; who makes it happen rings afterwards.
// All of it is sequentially consistent: with less, both could see the old value, and the end would be slept over.
#ifndef CASTOFF_ENGINE_PROGRESS_BELLS_H
#define CASTOFF_ENGINE_PROGRESS_BELLS_H

#include <stdatomic.h>
#include <stdbool.h>

#define CO_BELLS 16 // callers of one process that sleep at a time

struct co_bells {
    struct co_bell {
        _Atomic bool is_taken;
        _Atomic int fd; // made at the first use, -1 before
    } bells[CO_BELLS];
    int most; // that are made
};

// Makes the first one; `most` bells there will be, at least 1. 0 or -errno.
int co_bells_open(struct co_bells *bells, int most);
void co_bells_close(struct co_bells *bells);

// Any thread. A bell's number, or -1: none is free.
int co_bells_take(struct co_bells *bells);
// Readable once it has rung.
int co_bells_descriptor(struct co_bells *bells, int bell);
// `was_woken`: it may have rung, and shall not ring for the next caller. (Where it does, that one looks for nothing.)
void co_bells_give(struct co_bells *bells, int bell, bool was_woken);

// Any thread: all that are taken.
void co_bells_ring(struct co_bells *bells);

#endif
