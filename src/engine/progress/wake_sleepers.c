// SPDX-License-Identifier: BSD-3-Clause
//
// Wakes worker threads and callers that sleep beside them, for the rest of the engine: who has something for
// a thread calls it here. What threads there are: workers_open.c. Hot.
#include "engine/progress/wake_sleepers.h"

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
    return crosses_nodes && bytes >= LONG_BYTES && co_workers_are_split(engine);
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
