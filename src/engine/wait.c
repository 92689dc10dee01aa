// SPDX-License-Identifier: BSD-3-Clause
//
// What a waiting call does with its time: move the engine, let native MPI move, then spin, yield and at last sleep, by
// how long nothing has happened. An oversubscribed machine must not starve and an idle one must not burn, yet native
// MPI is never left alone for more than a millisecond. Also looks for peers that are gone and says so when it stalls.
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/stack_trace.h"
#include "engine/engine_state.h"

#define NETWORK_SPIN_NS (20 * CO_NS_PER_US)
#define YIELD_NS (2 * CO_NS_PER_MS)
#define SLEEP_MOST_NS CO_NS_PER_MS
#define DEAD_PEER_NS (100 * CO_NS_PER_MS)
#define NATIVE_EVERY 8 // turns, where native progress means system calls
#define DESCRIPTORS_MAX 32

void co_wait_begin(struct co_engine *engine, struct co_wait *wait, const char *call)
{
    *wait = (struct co_wait){.call = call};
    co_add_relaxed(&engine->callers, 1); // relaxed: a hint for the worker
}

void co_wait_end(struct co_engine *engine)
{
    if (atomic_fetch_sub_explicit(&engine->callers, 1, memory_order_relaxed) == 1 && // relaxed: likewise
        co_load_relaxed(&engine->background) > 0) {
        co_worker_wake(engine);
    }
}

// Sleeps until a datagram, room to send, a timer or `most_ns`.
void co_sleep_for_event(struct co_engine *engine, uint64_t most_ns)
{
    struct pollfd descriptors[DESCRIPTORS_MAX];
    int count = 0;
    if (engine->mcast != NULL) {
        if (!co_trylock_take(&engine->lock)) {
            sched_yield();
            return;
        }
        bool wants_write;
        uint64_t now_ns = co_clock_now_ns(), timer = co_mcast_next_timer_ns(engine->mcast, &wants_write);
        uint64_t until = timer <= now_ns ? 0 : timer - now_ns;
        most_ns = until < most_ns ? until : most_ns;
        count = engine->transport->ops->descriptors(engine->transport, descriptors, DESCRIPTORS_MAX, wants_write);
        co_trylock_drop(&engine->lock);
    }
    if (most_ns == 0 || count < 0) {
        return;
    }
    struct timespec pause = {(time_t)(most_ns / CO_NS_PER_S), (long)(most_ns % CO_NS_PER_S)};
    ppoll(descriptors, (nfds_t)count, &pause, NULL);
}

// One line and the stack, once for each stall. Another thread may be at the engine: then the operation is not named.
static void tell_stall(struct co_engine *engine, const struct co_wait *wait, uint64_t now_ns)
{
    char what[300] = "an operation that another thread moves";
    char stack[2000];
    if (wait->inline_op != NULL) {
        co_shm_op_describe(wait->inline_op, what, sizeof(what));
    } else if (co_trylock_take(&engine->lock)) {
        const struct co_task *head = co_task_head(engine);
        if (head != NULL) {
            co_task_describe(head, what, sizeof(what));
        } else {
            snprintf(what, sizeof(what), "nothing of castoff's");
        }
        co_trylock_drop(&engine->lock);
    }
    co_stack_trace_print(stack, sizeof(stack));
    co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "no progress in %s for %lu s: %s\n%s", wait->call,
           (unsigned long)((now_ns - wait->last_event_ns) / CO_NS_PER_S), what, stack);
}

static void look_around(struct co_engine *engine, struct co_wait *wait, uint64_t now_ns)
{
    if (engine->shm != NULL && now_ns >= wait->look_ns) {
        wait->look_ns = now_ns + DEAD_PEER_NS;
        if (co_shm_node_dead_peer(engine->shm) >= 0) {
            wait->peer_is_gone = true;
            engine->peer_is_gone = true;
        }
    }
    if (engine->stall_ns > 0 && !wait->has_told && now_ns - wait->last_event_ns > engine->stall_ns) {
        wait->has_told = true;
        tell_stall(engine, wait, now_ns);
    }
}

static void rest(struct co_engine *engine, struct co_wait *wait, uint64_t now_ns)
{
    uint64_t idle_ns = now_ns - wait->last_event_ns;
    if (engine->mcast != NULL && idle_ns > NETWORK_SPIN_NS) {
        co_counter_add(CO_COUNT_WAIT_SLEEPS, 1);
        co_sleep_for_event(engine, SLEEP_MOST_NS);
    } else if (idle_ns > YIELD_NS && !engine->is_oversubscribed) {
        co_counter_add(CO_COUNT_WAIT_SLEEPS, 1);
        co_sleep_for_event(engine, idle_ns / 16 < SLEEP_MOST_NS / 2 ? idle_ns / 16 : SLEEP_MOST_NS / 2);
    } else if (idle_ns > 20 * YIELD_NS) {
        co_counter_add(CO_COUNT_WAIT_SLEEPS, 1);
        co_sleep_for_event(engine, SLEEP_MOST_NS / 4);
    } else {
        co_counter_add(CO_COUNT_WAIT_YIELDS, 1);
        sched_yield();
    }
}

void co_engine_wait_turn(struct co_engine *engine, struct co_wait *wait)
{
    int events = co_engine_progress(engine);
    wait->turns++;
    if (engine->bootstrap.native_progress != NULL && (engine->mcast == NULL || wait->turns % NATIVE_EVERY == 0)) {
        engine->bootstrap.native_progress();
    }
    if (events > 0) {
        wait->turns = 0;
        wait->last_event_ns = 0;
        wait->has_told = false;
        return;
    }
    if (wait->turns < engine->spin_turns && engine->mcast == NULL) {
        co_cpu_relax();
        return;
    }
    uint64_t now_ns = co_clock_now_ns();
    if (wait->last_event_ns == 0) {
        wait->last_event_ns = now_ns;
    }
    look_around(engine, wait, now_ns);
    rest(engine, wait, now_ns);
}
