// SPDX-License-Identifier: BSD-3-Clause
//
// The threads of an engine by what they do, and a turn of each. Private to src/engine: workers.c opens them.
#ifndef CASTOFF_ENGINE_PROGRESS_WORKER_ROLES_H
#define CASTOFF_ENGINE_PROGRESS_WORKER_ROLES_H

#include "engine/progress/bells.h"
#include "engine/engine_state.h"
#include "engine/progress/worker.h"

struct co_workers {
    struct co_worker first;
    _Atomic bool is_split; // the others are there: release H1 when all is open
    struct co_worker sender;
    struct co_worker receivers[CO_MCAST_LANES_MAX]; // by subgroup; number 0 is the first worker's, too
    unsigned lanes;
    bool has_bells;
    struct co_bells bells; // callers sleep on them
};

// Moves nonblocking operations while the program computes, answers neighbours while nobody is inside MPI, and receives
// subgroup 0.
void co_worker_first_turn(struct co_worker *worker);
// Takes the datagrams of its subgroup from the kernel and verifies them.
void co_worker_receiver_turn(struct co_worker *worker);
// Sends long blocks.
void co_worker_sender_turn(struct co_worker *worker);

#endif
