// SPDX-License-Identifier: BSD-3-Clause
//
// The callback runs millions of times a second in any thread that blocks in native MPI. Idle it costs a few loads and
// returns 0, or native would never yield the processor. It calls MPI only to start, or end, what carries messages
// between hosts, and not from within itself.
#include "pmpi/life/progress_hook.h"

#include "base/counters.h"
#include "pmpi/life/process.h"

static bool is_added;
// Of this thread: native hears of something that has moved; what had moved at its last look in vain.
static _Thread_local bool is_awake __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t seen_moves __attribute__((tls_model("initial-exec")));

static int on_native_progress(void)
{
    struct co_engine *engine = co_process.engine;
    int events = engine == NULL ? 0 : co_engine_progress_inside(engine);
    if (events > 0) {
        co_counter_add(CO_COUNT_PROGRESS_CALLBACK, 1);
    }
    return events + is_awake;
}

static void move_native(bool keeps_processor)
{
    is_awake = keeps_processor;
    co_next.progress();
    is_awake = false;
}

void co_progress_native(void)
{
    move_native(true);
}

void co_progress_native_in_vain(void)
{
    uint64_t moves = co_engine_moves(co_process.engine);
    bool has_moved = moves != seen_moves;
    seen_moves = moves;
    move_native(has_moved);
}

void co_progress_hook_add(void)
{
    is_added = co_next.progress_register != NULL && co_next.progress_register(on_native_progress) == 0;
}

void co_progress_hook_remove(void)
{
    if (is_added) {
        co_next.progress_unregister(on_native_progress);
        is_added = false;
    }
}
