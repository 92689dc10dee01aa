// SPDX-License-Identifier: BSD-3-Clause
//
// Locks and counts of threads that may take turns. An atomic step waits until all earlier stores have left for the
// other processors, which is most of the time of a small message; where only one thread at a time is in MPI
// (MPI_THREAD_SERIALIZED and below) a load and a store do, and the program orders its threads. Only for what no thread
// of castoff's own touches. A lock, or a count, is used by these alone. Hot, so all but the variable is here.
#ifndef CASTOFF_BASE_PLAIN_COUNTERS_H
#define CASTOFF_BASE_PLAIN_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomics.h"

// Written before the first use, in one thread; false until then.
extern bool co_threads_take_turns;

static inline bool co_plain_lock_try(struct co_trylock *lock)
{
    if (!co_threads_take_turns) {
        return co_trylock_take(lock);
    }
    bool is_free = co_load_relaxed(&lock->taken) == 0; // relaxed: nobody else; taken where a native call came back here
    if (is_free) {
        co_store_relaxed(&lock->taken, 1);
    }
    return is_free;
}

static inline void co_plain_lock_take(struct co_trylock *lock)
{
    while (!co_plain_lock_try(lock)) {
        sched_yield();
    }
}

static inline void co_plain_lock_drop(struct co_trylock *lock)
{
    co_trylock_drop(lock);
}

static inline void co_plain_counter_add(_Atomic size_t *count, size_t value) // modulo its range: may be negative
{
    if (co_threads_take_turns) {
        co_store_relaxed(count, co_load_relaxed(count) + value);
    } else {
        co_add_relaxed(count, value);
    }
}

static inline void co_plain_counter_hold(_Atomic int *holders)
{
    if (co_threads_take_turns) {
        co_store_relaxed(holders, co_load_relaxed(holders) + 1);
    } else {
        co_add_relaxed(holders, 1); // relaxed: the caller's own hold keeps the object alive
    }
}

// True: nobody is left, and the caller sees what the others wrote before they let go.
static inline bool co_plain_counter_let_go(_Atomic int *holders)
{
    if (!co_threads_take_turns) {
        return co_sub_acq_rel(holders, 1) == 1; // acq_rel U1: of all who let go
    }
    int left = co_load_relaxed(holders) - 1;
    co_store_relaxed(holders, left);
    return left == 0;
}

#endif
