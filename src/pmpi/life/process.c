// SPDX-License-Identifier: BSD-3-Clause
//
// The state of castoff in this process and its few changes: woken by the first MPI call, on after a good start, off at
// the end and in forked children. Not hot.
#include "pmpi/life/process.h"

#include "base/live_counters.h"

struct co_process co_process;

void co_process_wake(void)
{
    int unresolved = CO_PROCESS_UNRESOLVED;
    co_next_mpi_resolve();
    // release O1: another thread that sees OFF may use the pointers at once.
    atomic_compare_exchange_strong_explicit(&co_process.state, &unresolved, CO_PROCESS_OFF, memory_order_acq_rel,
                                            memory_order_acquire);
}

void co_process_turn(bool on)
{
    co_store_release(&co_process.state, on ? CO_PROCESS_ON : CO_PROCESS_OFF); // release O1
}

void co_process_abandon(void)
{
    if (co_load_acquire(&co_process.state) == CO_PROCESS_ON) { // acquire O1
        struct co_engine *engine = co_process.engine;
        co_process.engine = NULL;
        co_process_turn(false);
        if (engine != NULL) {
            co_engine_abandon(engine);
            co_live_counters_leave();
        }
    }
}
