// SPDX-License-Identifier: BSD-3-Clause
//
// Who wakes worker threads, and callers that sleep beside them; and what worker threads an engine has. Private to
// src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_WAKE_SLEEPERS_H
#define CASTOFF_ENGINE_PROGRESS_WAKE_SLEEPERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/progress/crowding.h"
#include "engine/progress/wake_fds.h"
#include "engine/progress/worker.h"
#include "mcast/mcast.h"

struct co_engine;

struct co_workers {
    struct co_worker first;
    _Atomic bool is_split; // the others are there: release H1 when all is open
    struct co_worker sender;
    struct co_worker receivers[CO_MCAST_LANES_MAX]; // by subgroup; number 0 is the first worker's, too
    unsigned lanes;
    bool has_wake_fds;
    struct co_wake_fds wake_fds; // callers sleep on them
    bool are_judged;             // nobody has said how many there are to be
    struct co_trylock crowding_lock;
    struct co_crowding crowding;
    _Atomic bool are_crowded; // as it says: blocking operations are their callers'
};

void co_workers_wake(struct co_engine *engine); // an operation that they shall start at once
void co_workers_notice(
    struct co_engine *engine); // there is something to look at, within milliseconds; callers look first
void co_workers_send(struct co_engine *engine); // lock held: wakes the sending one if there is something for it
bool co_workers_are_split(const struct co_engine *engine);
// A blocking operation that they should move while its caller sleeps.
bool co_workers_want(const struct co_engine *engine, bool crosses_nodes, size_t bytes);
// One by which they are judged: whether they find cores (crowding.h). Then it has ended.
bool co_workers_are_tried(const struct co_engine *engine, bool crosses_nodes, size_t bytes);
void co_workers_tried(struct co_engine *engine, size_t bytes, uint64_t begun_ns);
// Wakes callers that sleep: something has come or ended.
void co_callers_wake(struct co_engine *engine);
struct co_wake_fds *co_workers_wake_fds(const struct co_engine *engine); // NULL where the workers are not split

#endif
