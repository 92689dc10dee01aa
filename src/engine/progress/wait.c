// SPDX-License-Identifier: BSD-3-Clause
//
// What a waiting call does with its time: move the engine, let native MPI move, then spin, yield and at last sleep, by
// how long nothing has happened. An oversubscribed machine must not starve and an idle one must not burn, yet native
// MPI is never left alone for more than a millisecond. Also looks for peers that are gone, and whether it stalls.
//
// No event is slept over: each turn remembers how many there were when it ended, the caller then looks whether it is
// done, and a turn that finds the number changed does not sleep.
#define _GNU_SOURCE
#include "engine/progress/wait.h"

#include <errno.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/poll.h"
#include "engine/engine_state.h"
#include "engine/progress/descriptors_look.h"
#include "engine/progress/wake_fds.h"
#include "engine/progress/messages_progress.h"
#include "engine/progress/peer_failure.h"
#include "engine/progress/proxies_look.h"
#include "engine/progress/stall_watchdog.h"
#include "engine/progress/wake_sleepers.h"
#include "mcast/mcast.h"
#include "shm/shm.h"
#include "transport/transport.h"
#include "p2p/channel/native_channel.h"
#include "p2p/p2p.h"

#define NETWORK_SPIN_NS (200 * CO_NS_PER_US) // at most, in a call; a longer wait for a datagram sleeps
#define REQUEST_SPIN_NS (20 * CO_NS_PER_US)  // and elsewhere
#define NETWORK_SPIN_LEAST_NS (10 * CO_NS_PER_US)
#define NETWORK_SPIN_TRY 32         // every so many waits try it for certain
#define YIELD_NS (2 * CO_NS_PER_MS) // for shared memory, whose writers wake nobody
#define CROWDED_YIELD_NS (40 * CO_NS_PER_MS)
#define SLEEP_MOST_NS CO_NS_PER_MS
#define MEMORY_SLEEP_MOST_NS (CO_NS_PER_MS / 2)
#define DEAD_PEER_NS (100 * CO_NS_PER_MS)
#define NATIVE_EVERY 8               // turns, where native progress means system calls,
#define CARRIER_EVERY 4              // turns of a wait for a message: a look at this node's is cheaper
#define NATIVE_NS (CO_NS_PER_MS / 2) // and before a sleep when it is so long ago
#define LOOK_EVERY 4096              // turns, even where something moves all the time, or nobody is to rest
#define MESSAGE_SPINS 400
#define MESSAGE_SPINS_CROWDED 16 // at most
#define MESSAGE_SPIN_TRY 32
#define YIELD_TAKEN_NS 1500               // a yield that nobody takes is over sooner, or, where system calls are slow,
#define YIELD_TAKEN 3                     // ... takes less than so many times the shortest one,
#define YIELD_SHORT_NS (CO_NS_PER_MS / 2) // and who computes keeps the core for longer
#define DESCRIPTORS_MAX 32

int co_wait_descriptors(struct co_engine *engine, struct pollfd *descriptors, int room, uint64_t *most_ns)
{
    if (!co_trylock_take(&engine->lock)) {
        return -EBUSY;
    }
    bool wants_write;
    uint64_t now_ns = co_clock_now_ns(), timer = co_mcast_next_timer_ns(engine->mcast, &wants_write);
    uint64_t until = timer == UINT64_MAX ? UINT64_MAX : timer <= now_ns ? 0 : timer - now_ns;
    *most_ns = until < *most_ns ? until : *most_ns;
    int count = engine->transport->ops->descriptors(engine->transport, descriptors, room, wants_write);
    co_trylock_drop(&engine->lock);
    return count;
}

void co_wait_woken(struct co_engine *engine, const struct pollfd *descriptors, int count)
{
    if (count > 0 && engine->transport->ops->woken != NULL) {
        engine->transport->ops->woken(engine->transport, descriptors, count);
    }
}

// Where workers are split. -1: no descriptor, the timer has to do.
static int take_wake_fd(struct co_engine *engine, struct pollfd *descriptor)
{
    struct co_wake_fds *wake_fds = co_workers_wake_fds(engine);
    int wake_fd = wake_fds == NULL ? -1 : co_wake_fds_take(wake_fds);
    if (wake_fd >= 0) {
        *descriptor = (struct pollfd){.fd = co_wake_fds_descriptor(wake_fds, wake_fd), .events = POLLIN};
    }
    return wake_fd;
}

static void give_wake_fd(struct co_engine *engine, int wake_fd, bool was_woken)
{
    if (wake_fd >= 0) {
        co_wake_fds_give(co_workers_wake_fds(engine), wake_fd, was_woken);
    }
}

// To the one we wait for, or to whoever is before that one. A core that nobody else wants is not left.
static void give_core(struct co_engine *engine)
{
    if (engine->is_oversubscribed && engine->has_sessions) {
        co_core_offer(&engine->offer);
    } else {
        sched_yield();
    }
}

// Others may want this core though there is one for each rank: other programs have all of them, and two ranks meet on
// one. Who takes a yield and soon gives the core back waits as we do: spinning would keep each other from running.
static void give_core_and_learn(struct co_engine *engine)
{
    uint64_t before_ns = co_clock_now_ns();
    give_core(engine);
    uint64_t took_ns = co_clock_now_ns() - before_ns, least_ns = co_load_relaxed(&engine->yield_least_ns);
    if (least_ns == 0 || took_ns < least_ns) {
        co_store_relaxed(&engine->yield_least_ns, took_ns); // relaxed: hints, both of them
    }
    bool is_taken = least_ns > 0 && took_ns >= YIELD_TAKEN_NS && took_ns >= YIELD_TAKEN * least_ns;
    co_store_relaxed(&engine->core_is_shared, is_taken && took_ns < YIELD_SHORT_NS);
}

static uint64_t spin_turns(const struct co_engine *engine)
{
    return co_load_relaxed(&engine->core_is_shared) ? 0 : engine->spin_turns; // relaxed: a hint
}

static bool is_over(const struct co_wait *wait)
{
    return wait != NULL && wait->is_over != NULL && wait->is_over(wait->waited_for);
}

// Sleeps until a datagram, room to send, a proxy's word, a timer or `most_ns`. True: one of the first three.
static bool sleep_for_event(struct co_engine *engine, const struct co_wait *wait, uint64_t most_ns,
                            uint64_t seen_completed)
{
    struct pollfd descriptors[DESCRIPTORS_MAX], of_wake_fd;
    int count = 0, of_network = 0, ready = 0, wake_fd = take_wake_fd(engine, &of_wake_fd);
    struct co_proxies *proxies = co_engine_proxies_awaited(engine);
    // Ordered by the lock, see co_engine_progress_for_worker; and sequentially consistent for co_callers_wake.
    atomic_fetch_add(&engine->sleepers, 1);
    if (engine->mcast != NULL && co_load_relaxed(&engine->network_error) == 0) {
        of_network = count = co_wait_descriptors(engine, descriptors, DESCRIPTORS_MAX - 2, &most_ns);
    }
    if (count >= 0 && proxies != NULL) {
        descriptors[count++] = (struct pollfd){.fd = proxies->descriptor(proxies->arg), .events = POLLIN};
        proxies->sleeps(proxies->arg);
        most_ns = is_over(wait) ? 0 : most_ns;
    }
    if (count >= 0 && wake_fd >= 0) {
        descriptors[count++] = of_wake_fd;
        most_ns = atomic_load(&engine->completed) == seen_completed ? most_ns : 0;
    }
    if (count >= 0 && most_ns > 0) {
        co_counter_add(CO_COUNT_WAIT_SLEEPS, 1);
        ready = co_poll(descriptors, (nfds_t)count, most_ns);
        if (ready > 0) {
            co_wait_woken(engine, descriptors, of_network);
            co_store_relaxed(&engine->polls, 0); // relaxed: the next turn looks at the network for certain
        }
    } else if (count < 0) {
        give_core(engine); // somebody moves the engine
    }
    if (count >= 0 && proxies != NULL) {
        proxies->wakes(proxies->arg);
    }
    co_sub_acq_rel(&engine->sleepers, 1); // acq_rel W1: with the look for sleepers in co_callers_wake
    give_wake_fd(engine, wake_fd, ready > 0);
    return ready > 0;
}

void co_sleep_for_event(struct co_engine *engine, uint64_t most_ns)
{
    sleep_for_event(engine, NULL, most_ns, atomic_load(&engine->completed));
}

// The workers move a long operation: they wake us at its end.
static void sleep_for_workers(struct co_engine *engine, struct co_wait *wait)
{
    struct pollfd of_wake_fd;
    int ready = 0, wake_fd = take_wake_fd(engine, &of_wake_fd);
    atomic_fetch_add(&engine->sleepers, 1); // sequentially consistent for co_callers_wake
    if (atomic_load(&engine->completed) == wait->seen_completed) {
        co_counter_add(CO_COUNT_WAIT_SLEEPS, 1);
        ready = co_poll(&of_wake_fd, wake_fd >= 0 ? 1 : 0, SLEEP_MOST_NS);
    }
    co_sub_acq_rel(&engine->sleepers, 1); // acq_rel W1: with the look for sleepers in co_callers_wake
    give_wake_fd(engine, wake_fd, ready > 0);
    wait->seen_completed = atomic_load(&engine->completed);
}

// The first look of a wait. What happens meanwhile puts it off no further: others may send all the time while the one
// that is waited for is gone.
static void look_later(struct co_wait *wait, uint64_t now_ns)
{
    wait->look_ns = wait->look_ns == 0 ? now_ns + DEAD_PEER_NS : wait->look_ns;
}

static void look_around(struct co_engine *engine, struct co_wait *wait, uint64_t now_ns)
{
    if (now_ns >= wait->look_ns) {
        wait->look_ns = now_ns + DEAD_PEER_NS;
        co_peer_failure_poll(engine);
        co_engine_proxies_look(engine, now_ns);
    }
    co_stall_watchdog_look(engine, wait, now_ns);
}

// True when something has moved since the last turn, whoever moved it.
static bool has_moved(struct co_engine *engine, struct co_wait *wait)
{
    uint64_t events = co_load_relaxed(&engine->events); // relaxed: a hint
    uint64_t inline_moved = wait->inline_op == NULL ? 0 : co_shm_op_moved(wait->inline_op);
    uint64_t advances = co_load_relaxed(&engine->advances);
    uint64_t messages = co_messages_advances(engine);
    bool inline_has = inline_moved != wait->inline_moved || messages != wait->seen_messages;
    bool moved = events != wait->seen_events || inline_has;
    if (advances != wait->seen_advances || inline_has) {
        wait->last_advance_ns = 0;
        wait->has_told = false;
        wait->seen_advances = advances;
    }
    wait->seen_events = events;
    wait->inline_moved = inline_moved;
    wait->seen_messages = messages;
    return moved;
}

// How long to sleep after so long without an event; 0: yield.
static uint64_t sleep_length(struct co_engine *engine, const struct co_wait *wait, uint64_t idle_ns)
{
    bool is_told = engine->mcast != NULL || co_engine_proxies_awaited(engine) != NULL;
    bool for_memory =
        wait->inline_op != NULL || wait->for_message || !is_told || co_load_relaxed(&engine->in_memory) > 0;
    // It moves only as often as it is called.
    if (engine->native_channel != NULL && !co_native_channel_is_idle(engine->native_channel)) {
        return 0;
    }
    if (!for_memory) {
        return idle_ns >= wait->spin_ns ? SLEEP_MOST_NS : 0;
    }
    if (idle_ns <= (engine->is_oversubscribed ? CROWDED_YIELD_NS : YIELD_NS)) {
        return 0;
    }
    return idle_ns / 16 < MEMORY_SLEEP_MOST_NS ? idle_ns / 16 : MEMORY_SLEEP_MOST_NS;
}

static void move_native(struct co_engine *engine)
{
    if (engine->bootstrap.native_progress != NULL) {
        engine->bootstrap.native_progress();
    }
}

// Looking for a datagram instead of sleeping is for those that come soon. When they come late, since they have a long
// way or since those who send them wait for a processor, it only takes the processor from them. Now and then it is
// tried all the same, since a sleeper needs time to wake and may be late by that alone.
static uint64_t spin_for(struct co_engine *engine, const struct co_wait *wait)
{
    if (engine->mcast == NULL || !wait->is_call) {
        return REQUEST_SPIN_NS;
    }
    bool is_try = co_add_relaxed(&engine->network_waits, 1) % NETWORK_SPIN_TRY == 0; // relaxed: hints, all of them
    return is_try ? NETWORK_SPIN_NS : co_load_relaxed(&engine->network_spin_ns);
}

static void learn_spin(struct co_engine *engine, bool is_worth_it)
{
    uint64_t spin_ns = co_load_relaxed(&engine->network_spin_ns); // relaxed: a hint
    uint64_t less_ns = spin_ns < NETWORK_SPIN_LEAST_NS ? 0 : spin_ns - spin_ns / 4;
    co_store_relaxed(&engine->network_spin_ns, is_worth_it ? NETWORK_SPIN_NS : less_ns); // relaxed: a hint
}

static void rest(struct co_engine *engine, struct co_wait *wait)
{
    uint64_t now_ns = co_clock_now_ns();
    bool is_first = wait->last_event_ns == 0;
    if (is_first) {
        wait->last_event_ns = now_ns;
        look_later(wait, now_ns);
        wait->spin_ns = spin_for(engine, wait);
        wait->has_slept = false;
    }
    look_around(engine, wait, now_ns);
    uint64_t length = sleep_length(engine, wait, now_ns - wait->last_event_ns);
    if (length == 0) {
        co_counter_add(CO_COUNT_WAIT_YIELDS, 1);
        is_first && !engine->is_oversubscribed ? give_core_and_learn(engine) : give_core(engine);
        return;
    }
    if (engine->mcast != NULL && now_ns - co_load_relaxed(&engine->native_ns) > NATIVE_NS) { // relaxed: a hint
        co_store_relaxed(&engine->native_ns, now_ns);
        move_native(engine);
        if (has_moved(engine, wait)) {
            return; // from inside it: the caller may be done
        }
    }
    bool is_woken = sleep_for_event(engine, wait, length, wait->seen_completed);
    if (!wait->has_slept && wait->is_call) {
        learn_spin(engine, is_woken && co_clock_now_ns() - wait->last_event_ns <= NETWORK_SPIN_NS);
    }
    wait->has_slept = true;
}

static void wait_for_workers(struct co_engine *engine, struct co_wait *wait)
{
    uint64_t now_ns = co_clock_now_ns();
    if (has_moved(engine, wait) || wait->last_event_ns == 0) {
        wait->last_event_ns = now_ns;
        look_later(wait, now_ns);
    }
    look_around(engine, wait, now_ns);
    move_native(engine);
    sleep_for_workers(engine, wait);
}

// Where ranks outnumber cores, a wait spins for a rank that runs, or keeps the processor from one that does not: how it
// went lately says which. Now and then it is tried all the same.
static unsigned message_spins(struct co_engine *engine)
{
    if (!engine->is_oversubscribed) {
        return co_load_relaxed(&engine->core_is_shared) ? MESSAGE_SPINS_CROWDED : MESSAGE_SPINS; // relaxed: a hint
    }
    // relaxed: hints, both of them
    bool is_try = co_add_relaxed(&engine->message_waits, 1) % MESSAGE_SPIN_TRY == 0;
    unsigned learned = co_load_relaxed(&engine->message_spins);
    return is_try ? MESSAGE_SPINS_CROWDED : learned;
}

static void learn_message_spins(struct co_engine *engine, unsigned spins)
{
    co_store_relaxed(&engine->message_spins, spins); // relaxed: a hint
}

// The first turns of a wait for a message look at messages alone: native's turn would cost more than a message takes.
static bool spins_for_message(struct co_engine *engine, struct co_wait *wait)
{
    if (wait->all_turns == 0) {
        wait->message_spins = wait->for_message ? message_spins(engine) : 0;
    }
    if (wait->all_turns >= wait->message_spins) {
        return false;
    }
    bool looks_far = engine->shm == NULL || wait->all_turns % CARRIER_EVERY == 0;
    int events = looks_far ? co_messages_progress(engine, false) : co_p2p_progress(engine->p2p);
    wait->all_turns++;
    if (events == 0) {
        co_cpu_relax();
    } else if (engine->is_oversubscribed && wait->all_turns > 1) {
        learn_message_spins(engine, MESSAGE_SPINS_CROWDED);
    }
    return true;
}

void co_engine_wait_turn(struct co_engine *engine, struct co_wait *wait)
{
    if (spins_for_message(engine, wait)) {
        return;
    }
    if (wait->all_turns++ == wait->message_spins) {
        has_moved(engine, wait);                                           // what moved before it began does not count
        if (!wait->is_call && co_load_relaxed(&engine->outstanding) > 0) { // relaxed: a hint; a call has just begun
            co_descriptors_look(engine);
        }
        if (engine->is_oversubscribed && wait->message_spins > 0) {
            learn_message_spins(engine, co_load_relaxed(&engine->message_spins) / 2); // relaxed: a hint
        }
    }
    if (wait->all_turns % LOOK_EVERY == 0) {
        uint64_t now_ns = co_clock_now_ns();
        look_later(wait, now_ns);
        look_around(engine, wait, now_ns);
    }
    if (wait->inline_op == NULL && !wait->for_message &&
        co_load_relaxed(&engine->long_ones) > 0) { // relaxed: ours was counted before
        wait_for_workers(engine, wait);
        return;
    }
    bool is_native_due = wait->all_turns % NATIVE_EVERY == 0;
    bool is_vain = co_engine_progress(engine) == 0; // else the caller may be done
    wait->turns++;
    if (engine->native_channel == NULL && (is_native_due || (engine->mcast == NULL && is_vain))) {
        move_native(engine);
    }
    if (has_moved(engine, wait)) {
        if (wait->is_call && wait->last_event_ns != 0 && !wait->has_slept && wait->spin_ns > 0) {
            learn_spin(engine, co_clock_now_ns() - wait->last_event_ns <= NETWORK_SPIN_NS);
        }
        wait->turns = 0;
        wait->last_event_ns = 0;
    } else if (wait->turns < spin_turns(engine) &&
               (engine->mcast == NULL || wait->inline_op != NULL || wait->for_message)) {
        co_cpu_relax();
    } else {
        rest(engine, wait);
    }
    wait->seen_completed = atomic_load(&engine->completed); // before the caller looks at his operation
}
