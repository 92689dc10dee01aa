// SPDX-License-Identifier: BSD-3-Clause
//
// The one castoff of this process: off, or on with its engine and private communicators. Every wrapper asks here
// first. Written by start and stop only (one thread, inside MPI_Init and MPI_Finalize); read by all threads, hot.
#ifndef CASTOFF_PMPI_LIFE_PROCESS_H
#define CASTOFF_PMPI_LIFE_PROCESS_H

#include <stdbool.h>

#include "base/atomics.h"
#include "engine/engine.h"
#include "mpi_below/next_mpi.h"

enum co_process_state {
    CO_PROCESS_UNRESOLVED, // no MPI call yet
    CO_PROCESS_OFF,        // every wrapper hands on
    CO_PROCESS_ON          // calls are looked at: taken, or declined and counted
};

struct co_process {
    _Atomic int state;
    struct co_engine *engine;   // NULL: nothing is taken, `idle_reason` says why
    enum co_reason idle_reason; // for the report of a job that asked for one but runs native
    bool counts;                // the report was asked for
    bool serves_messages;       // of some communicators
    int rank, size;             // in MPI_COMM_WORLD
    MPI_Comm world, self, node; // private duplicates, errors returned; CO_NO_HANDLE: none
    MPI_Group world_group;
    MPI_Group node_group; // CO_NO_HANDLE: none
    int node_count;
};

extern struct co_process co_process;

// First MPI call of the process: finds the library underneath.
void co_process_wake(void);

static inline bool co_process_is_off(void)
{
    // acquire O1: whoever sees ON sees all that start wrote before its release O1.
    int state = co_load_acquire(&co_process.state);
    if (__builtin_expect(state == CO_PROCESS_OFF, 1)) {
        return true;
    }
    if (state == CO_PROCESS_UNRESOLVED) {
        co_process_wake();
        return true;
    }
    return false;
}

static inline bool co_process_is_serving(void)
{
    return !co_process_is_off() && co_process.engine != NULL;
}

void co_process_turn(bool on);

// Forked children never touch the engine; called by pthread_atfork.
void co_process_abandon(void);

#endif
