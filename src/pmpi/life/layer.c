// SPDX-License-Identifier: BSD-3-Clause
//
// The state of the layer and its few changes: woken by the first MPI call, on after a good start, off at the end and
// in forked children. Not hot.
#include "pmpi/life/layer.h"

#include "base/live_counters.h"

struct co_layer co_layer;

void co_layer_wake(void)
{
    int unresolved = CO_LAYER_UNRESOLVED;
    co_next_mpi_resolve();
    // release O1: another thread that sees OFF may use the pointers at once.
    atomic_compare_exchange_strong_explicit(&co_layer.state, &unresolved, CO_LAYER_OFF, memory_order_acq_rel,
                                            memory_order_acquire);
}

void co_layer_turn_on(void)
{
    co_store_release(&co_layer.state, CO_LAYER_ON); // release O1
}

void co_layer_turn_off(void)
{
    co_store_release(&co_layer.state, CO_LAYER_OFF); // release O1
}

void co_layer_abandon(void)
{
    if (co_load_acquire(&co_layer.state) == CO_LAYER_ON) { // acquire O1
        struct co_engine *engine = co_layer.engine;
        co_layer.engine = NULL;
        co_layer_turn_off();
        if (engine != NULL) {
            co_engine_abandon(engine);
            co_live_counters_leave();
        }
    }
}
