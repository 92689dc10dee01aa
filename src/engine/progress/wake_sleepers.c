// SPDX-License-Identifier: BSD-3-Clause
//
// Wakes worker threads and callers that sleep beside them, for the rest of the engine: who has something for
// a thread calls it here, or learns that the threads rest, for want of cores. What threads there are: workers_open.c.
// Hot.
#include "engine/progress/wake_sleepers.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_state.h"
#include "engine/progress/wake_fds.h"
#include "mcast/mcast.h"

#define LONG_BYTES (1024 * 1024) // blocking operations from here on are left to the workers, where they are several

bool co_workers_are_split(const struct co_engine *engine)
{
    return engine->workers != NULL && co_load_acquire(&engine->workers->is_split); // acquire H1
}

bool co_workers_want(const struct co_engine *engine, bool crosses_nodes, size_t bytes)
{
    return crosses_nodes && bytes >= LONG_BYTES && co_workers_are_split(engine) &&
           !co_load_relaxed(&engine->workers->are_crowded); // relaxed: a hint, each operation looks once
}

bool co_workers_are_tried(const struct co_engine *engine, bool crosses_nodes, size_t bytes)
{
    return crosses_nodes && bytes >= CO_MCAST_SENDER_BYTES && co_workers_are_split(engine) &&
           engine->workers->are_judged;
}

static bool add_time(struct co_processor_time *time, const struct co_worker *worker)
{
    int thread = co_load_relaxed(&worker->thread_id); // relaxed: a number
    return thread != 0 && co_processor_time_add(time, thread);
}

static void judge_cores(struct co_engine *engine, struct co_workers *workers, uint64_t now_ns)
{
    struct co_processor_time time = {0};
    if (add_time(&time, &workers->first) && add_time(&time, &workers->sender)) {
        co_crowding_judge(&workers->crowding, time, now_ns);
        bool are_crowded = workers->crowding.is_crowded;
        co_store_relaxed(&workers->are_crowded, are_crowded);
        co_mcast_sender_use(engine->mcast, !are_crowded);
        co_log(CO_LOG_DEBUG, CO_SUBSYS_ENGINE, "worker threads %s", are_crowded ? "wait for cores, and rest" : "work");
    }
}

void co_workers_tried(struct co_engine *engine, size_t bytes, uint64_t begun_ns)
{
    struct co_workers *workers = engine->workers;
    uint64_t now_ns = co_clock_now_ns();
    if (co_trylock_take(&workers->crowding_lock)) { // else another call has ended, which says as much
        if (co_crowding_ended(&workers->crowding, bytes, now_ns - begun_ns, now_ns)) {
            judge_cores(engine, workers, now_ns);
        }
        co_trylock_drop(&workers->crowding_lock);
    }
}

struct co_wake_fds *co_workers_wake_fds(const struct co_engine *engine)
{
    return co_workers_are_split(engine) ? &engine->workers->wake_fds : NULL;
}

// Sequentially consistent on both sides: a caller counts itself among the sleepers and then looks whether anything
// has happened, we make it happen and then look for sleepers. With less, both could see the old value and the caller
// would sleep over the end of its operation, if only for a millisecond.
void co_callers_wake(struct co_engine *engine)
{
    if (co_workers_are_split(engine) && atomic_load(&engine->sleepers) > 0) {
        co_wake_fds_signal(&engine->workers->wake_fds);
    }
}

void co_workers_wake(struct co_engine *engine)
{
    if (engine->workers != NULL) {
        co_worker_call(&engine->workers->first);
    }
}

void co_workers_notice(struct co_engine *engine)
{
    if (engine->workers != NULL) {
        co_worker_notice(&engine->workers->first);
    }
}

void co_workers_send(struct co_engine *engine)
{
    if (co_workers_are_split(engine) && co_mcast_wants_sender(engine->mcast)) {
        co_worker_call(&engine->workers->sender);
    }
}
