// SPDX-License-Identifier: BSD-3-Clause
//
// The one place where the engine moves, driven by waiting callers, by the native progress loop and by the worker.
// Idle it costs one or two loads; who does not get the lock leaves the work to the holder. Hot.
#include "base/clock.h"
#include "engine/engine_state.h"

// How rarely the network is looked at while only copies are kept for others, and while nothing is outstanding at all:
// a neighbour whose last report was lost may still ask, from inside a call of his.
#define BUSY_NETWORK_POLLS 64
#define IDLE_NETWORK_POLLS 256

static bool has_work(struct co_engine *engine)
{
    // relaxed, all of it: what is missed now is seen at the next turn, and a lost count only shifts a poll
    if (co_load_relaxed(&engine->outstanding) > 0) {
        return true;
    }
    if (engine->mcast == NULL) {
        return false;
    }
    unsigned polls = co_load_relaxed(&engine->polls) + 1;
    co_store_relaxed(&engine->polls, polls);
    return polls % (co_load_relaxed(&engine->network_is_busy) ? BUSY_NETWORK_POLLS : IDLE_NETWORK_POLLS) == 0;
}

int co_engine_progress(struct co_engine *engine)
{
    if (co_load_relaxed(&engine->is_abandoned) || !has_work(engine) || !co_trylock_take(&engine->lock)) {
        return 0;
    }
    uint64_t now_ns = co_clock_now_ns();
    int events = co_tasks_progress(engine, now_ns);
    if (engine->mcast != NULL) {
        int moved = co_mcast_progress(engine->mcast, now_ns);
        if (moved > 0) {
            events += moved + co_tasks_progress(engine, now_ns);
        }
        bool is_busy = !co_mcast_is_idle(engine->mcast);
        bool was_busy = co_load_relaxed(&engine->network_is_busy);
        co_store_relaxed(&engine->network_is_busy, is_busy); // relaxed: tells only how often to look
        if (is_busy && !was_busy) {
            co_worker_wake(engine);
        }
    }
    co_trylock_drop(&engine->lock);
    return events;
}

void co_engine_abandon(struct co_engine *engine)
{
    co_store_relaxed(&engine->is_abandoned, true); // relaxed: the forked child has one thread
}
