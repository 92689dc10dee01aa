// SPDX-License-Identifier: BSD-3-Clause
//
// What each worker thread does in a turn, and how it sleeps. The first keeps out of the way of callers who wait, since
// they move the engine themselves; the others are there for operations that no caller moves.
#include "engine/progress/worker_roles.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "engine/engine_state.h"
#include "engine/progress/descriptors_look.h"
#include "engine/progress/messages_progress.h"
#include "engine/progress/progress.h"
#include "engine/progress/wait.h"
#include "engine/progress/wake_sleepers.h"
#include "mcast/mcast.h"
#include "transport/transport.h"

#define NAP_LEAST_NS (20 * CO_NS_PER_US) // between looks at shared memory, whose writers wake nobody
#define NAP_MOST_NS (500 * CO_NS_PER_US)
#define NAP_MESSAGES_MOST_NS (4 * CO_NS_PER_MS)   // of messages alone: some are waited for all the time
#define FULL_NS CO_NS_PER_MS                      // the queue is full, and no descriptor tells when it is not
#define NAP_BUSY_NS (20 * CO_NS_PER_US)           // somebody else holds the engine
#define NAP_CALLERS_LEAST_NS (100 * CO_NS_PER_US) // callers move the engine
#define NAP_CALLERS_MOST_NS (4 * CO_NS_PER_MS)

static bool callers_are_at_it(struct co_worker *worker)
{
    struct co_engine *engine = worker->engine;
    unsigned turns = co_load_relaxed(&engine->turns); // relaxed: hints
    bool moved = turns != worker->seen_turns;
    worker->seen_turns = turns;
    return co_load_relaxed(&engine->long_ones) == 0 && (moved || co_load_relaxed(&engine->sleepers) > 0);
}

// Sleeps *nap_ns, at least `least_ns`, and doubles it, up to `most_ns`.
static void nap(struct co_worker *worker, uint64_t *nap_ns, uint64_t least_ns, uint64_t most_ns)
{
    struct pollfd descriptors[1];
    *nap_ns = *nap_ns < least_ns ? least_ns : *nap_ns;
    co_worker_sleep(worker, descriptors, 0, *nap_ns);
    *nap_ns = *nap_ns * 2 < most_ns ? *nap_ns * 2 : most_ns;
}

// A new operation was submitted by a caller who is on his way back to the program.
static bool take_call(struct co_worker *worker)
{
    bool was_called = co_worker_was_called(worker), has_notice = atomic_exchange(&worker->has_notice, false);
    if (was_called) {
        worker->seen_turns = co_load_relaxed(&worker->engine->turns); // relaxed: a hint
    }
    // relaxed: a hint
    bool is_pressing = co_load_relaxed(&worker->engine->network_is_busy) || co_messages_in_background(worker->engine);
    if (was_called || (has_notice && is_pressing)) {
        worker->callers_nap_ns = NAP_CALLERS_LEAST_NS;
        worker->nap_ns = NAP_LEAST_NS;
    }
    return was_called;
}

// Operations in shared memory, whose writers wake nobody.
static bool has_memory_to_watch(const struct co_engine *engine)
{
    bool has_tasks = co_load_relaxed(&engine->background) > 0; // relaxed: who submits calls afterwards
    return has_tasks && (engine->mcast == NULL || co_load_relaxed(&engine->in_memory) > 0);
}

// Sleeps for what could come next: descriptors and timers say whether there is anything left to move now.
static void rest(struct co_worker *worker)
{
    struct co_engine *engine = worker->engine;
    struct pollfd descriptors[CO_WORKER_DESCRIPTORS_MAX + 1];
    bool in_memory = has_memory_to_watch(engine);
    uint64_t nap_most_ns = in_memory ? NAP_MOST_NS : NAP_MESSAGES_MOST_NS;
    worker->nap_ns = worker->nap_ns < NAP_LEAST_NS ? NAP_LEAST_NS : worker->nap_ns;
    uint64_t most_ns = in_memory || co_messages_in_background(engine) ? worker->nap_ns : UINT64_MAX;
    int count = 0;
    if (engine->mcast != NULL && co_load_relaxed(&engine->network_error) == 0) {
        count = co_wait_descriptors(engine, descriptors, CO_WORKER_DESCRIPTORS_MAX, &most_ns);
    }
    if (count < 0) {
        count = 0;
        most_ns = NAP_BUSY_NS;
    }
    if (most_ns > 0 && co_worker_sleep(worker, descriptors, count, most_ns)) {
        co_wait_woken(engine, descriptors, count);
    }
    worker->nap_ns = worker->nap_ns * 2 < nap_most_ns ? worker->nap_ns * 2 : nap_most_ns;
}

static void rouse_receivers(struct co_engine *engine)
{
    struct co_workers *workers = engine->workers;
    if (co_workers_are_split(engine) &&
        co_load_relaxed(&engine->background) > 0) { // relaxed: a hint, they look themselves
        for (unsigned i = 1; i < workers->lanes; i++) {
            if (!co_load_relaxed(&workers->receivers[i].is_called)) { // relaxed: a hint, called once more does no harm
                co_worker_call(&workers->receivers[i]);
            }
        }
    }
}

// Somebody else holds the engine. He may have looked at the submissions and at our lane before, or only want to know
// what to sleep on, and no descriptor tells of what has left the kernel: nobody may go to sleep over it.
static void wait_for_holder(struct co_worker *worker)
{
    co_callers_wake(worker->engine);
    nap(worker, &(uint64_t){0}, NAP_BUSY_NS, NAP_BUSY_NS);
}

void co_worker_first_progress(struct co_worker *worker)
{
    struct co_engine *engine = worker->engine;
    if (take_call(worker)) {
        rouse_receivers(engine);
    }
    if (callers_are_at_it(worker)) {
        nap(worker, &worker->callers_nap_ns, NAP_CALLERS_LEAST_NS, NAP_CALLERS_MOST_NS);
        return;
    }
    bool are_own = co_descriptors_look(engine);
    if (are_own && co_workers_are_split(engine) && co_load_relaxed(&engine->network_error) == 0) { // relaxed: a hint
        co_mcast_lane_fill(engine->mcast, 0); // what fails here is found by the move
    }
    int moved = co_engine_progress_for_worker(engine), messages = co_messages_progress_background(engine);
    if (moved > 0 || messages > 0) {
        co_counter_add(CO_COUNT_PROGRESS_WORKER, 1);
        worker->nap_ns = NAP_LEAST_NS;
    }
    if (moved < 0) {
        wait_for_holder(worker);
    } else if (moved == 0 && messages < 0) {
        nap(worker, &worker->callers_nap_ns, NAP_CALLERS_LEAST_NS, NAP_CALLERS_MOST_NS);
    } else if (messages <= 0 && (moved == 0 || !has_memory_to_watch(engine))) {
        rest(worker);
    }
}

// Takes its subgroup's datagrams while there are operations for workers; who gets the engine puts them in their place.
void co_worker_receiver_progress(struct co_worker *worker)
{
    struct co_engine *engine = worker->engine;
    struct pollfd descriptors[2] = {
        {.fd = co_mcast_lane_descriptor(engine->mcast, worker->subgroup), .events = POLLIN}};
    take_call(worker);
    if (co_load_relaxed(&engine->background) == 0) { // relaxed: who submits has us called afterwards
        co_worker_sleep(worker, descriptors + 1, 0, UINT64_MAX);
        return;
    }
    if (callers_are_at_it(worker)) {
        nap(worker, &worker->callers_nap_ns, NAP_CALLERS_LEAST_NS, NAP_CALLERS_MOST_NS);
        return;
    }
    int waiting = co_descriptors_look(engine) ? co_mcast_lane_fill(engine->mcast, worker->subgroup) : -EBADF;
    if (waiting == 0) {
        co_worker_sleep(worker, descriptors, 1, UINT64_MAX);
        return;
    }
    if (waiting < 0 || co_engine_progress_for_worker(engine) <= 0) {
        wait_for_holder(worker);
        return;
    }
    co_counter_add(CO_COUNT_PROGRESS_WORKER, 1);
}

// Sends parts of long blocks; the engine is held only to fetch and to account for them.
void co_worker_sender_progress(struct co_worker *worker)
{
    struct co_engine *engine = worker->engine;
    struct pollfd descriptors[2];
    take_call(worker);
    co_descriptors_look(engine);
    co_trylock_wait(&engine->lock);
    bool has_part = co_load_relaxed(&engine->network_error) == 0 && !co_descriptors_are_lost(engine) &&
                    co_mcast_send_begin(engine->mcast, co_clock_now_ns());
    co_trylock_drop(&engine->lock);
    if (!has_part) {
        co_worker_sleep(worker, descriptors, 0, UINT64_MAX);
        return;
    }
    co_mcast_send_run(engine->mcast);
    co_trylock_wait(&engine->lock);
    bool has_room = co_mcast_send_end(engine->mcast, co_clock_now_ns());
    co_engine_progress_held(engine);
    co_trylock_drop(&engine->lock);
    co_counter_add(CO_COUNT_PROGRESS_WORKER, 1);
    if (!has_room) {
        engine->transport->ops->descriptors(engine->transport, descriptors, 1, 1);
        descriptors[0].events &= POLLOUT;
        co_worker_sleep(worker, descriptors, 1, descriptors[0].events != 0 ? UINT64_MAX : FULL_NS);
    }
}
