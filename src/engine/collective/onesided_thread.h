// SPDX-License-Identifier: BSD-3-Clause
//
// One transfer of a one-sided call after the other, beside the thread that has called MPI. Private to src/engine.
#ifndef CASTOFF_ENGINE_COLLECTIVE_ONESIDED_THREAD_H
#define CASTOFF_ENGINE_COLLECTIVE_ONESIDED_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/collective/onesided_collective.h"

struct co_engine;

// What goes into the buffers of one group after the other, in a thread of its own: functions of a
// group wait, and whoever called MPI goes on moving the engine and the MPI below, since others may need that first.
struct co_onesided_thread {
    const struct co_onesided_collective *onesided;
    // The order: from the caller to the thread.
    bool is_sender, must_end;
    unsigned members;
    void *buffer;
    size_t bytes;
    char group[64], name[32];
    // What became of it.
    int result;
    char why[320];
    struct castoff_group_counts counts;
    _Atomic(const char *) stage; // for a stall
    _Atomic bool is_done;
    sem_t ordered;
    pthread_t thread;
};

// 0 or -errno. From then on it waits for orders.
int co_onesided_thread_open(struct co_onesided_thread *transfer, const struct co_onesided_collective *onesided);
// Carries out the order that stands in it: 0, or -errno and `why`. When it returns nothing writes into the buffer.
int co_onesided_thread_carry(struct co_onesided_thread *transfer, struct co_engine *engine, const char *call);
void co_onesided_thread_close(struct co_onesided_thread *transfer);

#endif
