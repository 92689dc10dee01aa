// SPDX-License-Identifier: BSD-3-Clause
//
// The communicators that castoff follows: handle -> team. An entry is made when a communicator is created and leaves
// the table in an attribute delete callback, so that a handle used again never finds an old team. Look-up is hot and
// safe from any thread; adding and removing are rare.
#ifndef CASTOFF_PMPI_COMMUNICATOR_COMMUNICATORS_H
#define CASTOFF_PMPI_COMMUNICATOR_COMMUNICATORS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/plain_counters.h"
#include "engine/engine.h"
#include "mpi_below/next_mpi.h"

// Trials of its collectives (engine/engine.h): none, or not before so many calls, or the team has them.
enum co_trials_state { CO_TRIALS_NONE, CO_TRIALS_COUNTED, CO_TRIALS_OPEN = CO_TRIALS_COUNTED + CO_TRIALS_AFTER + 1 };

// All that a communicator costs until a collective of it is taken, beside its cell of the table: keep it small.
struct co_communicator {
    MPI_Comm comm;                   // MPI_COMM_NULL below once the program has freed it
    struct co_team *team;            // NULL: no collective of it was taken yet
    struct co_p2p_context *messages; // NULL: point-to-point is native's. Once freed: for those who hold it
    struct co_meetings *meetings;    // NULL: broadcasts have no trials in meetings of the members
    struct co_team_seed seed;
    enum co_reason reason;        // CO_TAKE, or why it is not served
    _Atomic bool is_switched_off; // by the info hint castoff=no
    uint8_t trials;               // enum co_trials_state
    uint16_t first_class;         // of the calls before trials, where all were of one
    _Atomic int pending;          // operations that need the entry after their call returned
    _Atomic int holders;          // the table and pending operations; the last one frees
};

#define CO_COMMUNICATOR_CELL_BYTES (4 * sizeof(struct co_communicator *)) // of the table, at most, once it has grown

// The last answer of each thread, valid for one generation of the table.
struct co_communicators_cache {
    MPI_Comm comm;
    struct co_communicator *entry;
    unsigned generation;
};

extern _Thread_local struct co_communicators_cache co_communicators_cache __attribute__((tls_model("initial-exec")));
extern _Atomic unsigned co_communicators_generation;

struct co_communicator *co_communicators_find_slowly(MPI_Comm comm, unsigned generation);

// NULL: not followed. Valid as long as the program may use the communicator.
static inline struct co_communicator *co_communicators_find(MPI_Comm comm)
{
    // acquire C1: an entry of this generation is complete. A stale number only costs the slow way.
    unsigned generation = co_load_acquire(&co_communicators_generation);
    if (co_communicators_cache.comm == comm && co_communicators_cache.generation == generation) {
        return co_communicators_cache.entry;
    }
    return co_communicators_find_slowly(comm, generation);
}

// The table takes the entry over. 0 or -ENOMEM.
int co_communicators_add(struct co_communicator *entry);

// Takes the entry out and closes its team; operations still pending keep the rest of it.
void co_communicators_remove(struct co_communicator *entry);

// For an operation that outlives its call.
static inline void co_communicator_hold(struct co_communicator *entry)
{
    co_plain_counter_hold(&entry->holders);
}

static inline void co_communicator_drop(struct co_communicator *entry)
{
    if (co_plain_counter_let_go(&entry->holders)) {
        free(entry);
    }
}

// Makes sure that there is a team, for a collective that is taken. Local. On failure, 0 or -errno, the other members
// are told.
int co_communicator_open_team(struct co_communicator *entry);

static inline int co_communicator_need_team(struct co_communicator *entry)
{
    return __builtin_expect(entry->team != NULL, 1) ? 0 : co_communicator_open_team(entry);
}

// At the end: all that are left.
void co_communicators_remove_all(void);

#endif
