// SPDX-License-Identifier: BSD-3-Clause
//
// The stall watchdog of a waiting call: says what is waited for, once for each stall, after CASTOFF_STALL_S without
// anything that moved. Rare.
#include "engine/progress/stall_watchdog.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stack_trace.h"
#include "engine/collective/task.h"
#include "engine/engine_state.h"
#include "engine/progress/proxies_look.h"
#include "shm/shm.h"

static void describe_wait(struct co_engine *engine, const struct co_wait *wait, char *what, size_t room)
{
    snprintf(what, room, "an operation that another thread moves");
    if (wait->describe != NULL) {
        wait->describe(wait->waited_for, what, room);
    } else if (wait->inline_op != NULL) {
        co_shm_op_describe(wait->inline_op, what, room);
    } else if (co_trylock_take(&engine->lock)) {
        co_tasks_describe(engine, what, room);
        co_trylock_drop(&engine->lock);
    }
}

// One line and the stack, once for each stall.
static void tell_stall(struct co_engine *engine, const struct co_wait *wait, uint64_t now_ns)
{
    char what[400], stack[4000];
    describe_wait(engine, wait, what, sizeof(what));
    co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "no progress in %s for %lu s: %s", wait->call,
           (unsigned long)((now_ns - wait->last_advance_ns) / CO_NS_PER_S), what);
    if (co_log_is_on(CO_LOG_WARN, CO_SUBSYS_ENGINE)) {
        co_stack_trace_print(stack, sizeof(stack));
        co_log_text(stack);
    }
}

// A proxy may be at one transfer for longer than that.
static bool proxies_have_moved(const struct co_engine *engine, struct co_wait *wait)
{
    uint64_t moved = co_engine_proxies_moved(engine);
    bool have_moved = moved != wait->seen_proxies;
    wait->seen_proxies = moved;
    return have_moved;
}

void co_stall_watchdog_look(struct co_engine *engine, struct co_wait *wait, uint64_t now_ns)
{
    if (wait->last_advance_ns == 0) { // it begins
        wait->last_advance_ns = now_ns;
        (void)proxies_have_moved(engine, wait);
    }
    if (engine->stall_ns == 0 || wait->has_told || now_ns - wait->last_advance_ns <= engine->stall_ns) {
        return;
    }
    if (proxies_have_moved(engine, wait)) {
        wait->last_advance_ns = now_ns;
    } else {
        wait->has_told = true;
        tell_stall(engine, wait, now_ns);
    }
}
