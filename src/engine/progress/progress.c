// SPDX-License-Identifier: BSD-3-Clause
//
// The one place where the engine moves, driven by waiting callers, by the native progress loop and by workers.
// Idle it costs a few loads; who does not get the lock leaves the work to the holder. Hot.
//
// A network without work of ours is looked at too, if rarely: a neighbour whose last report from us was lost waits
// for the answer to its question, while we may be waiting for that neighbour inside native MPI.
#include "engine/progress/progress.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/collective/task.h"
#include "engine/collective/team.h"
#include "engine/engine_state.h"
#include "engine/progress/descriptors_look.h"
#include "engine/progress/messages_progress.h"
#include "engine/progress/peer_failure.h"
#include "engine/progress/proxies_look.h"
#include "engine/progress/wake_sleepers.h"
#include "mcast/mcast.h"
#include "p2p/p2p_open.h"

#define BUSY_NETWORK_POLLS 64  // calls for one look while only copies are kept or reports owed
#define IDLE_NETWORK_POLLS 256 // ... while nothing at all is known to be under way
#define IDLE_NETWORK_TURNS 32  // turns of operations in shared memory for one look
#define GLANCES_FOR_THE_GONE 4096
#define GLANCES_FOR_PROXIES 64  // that have gone: who only tests sees it by this alone
#define MESSAGES_EVERY 8        // turns of the native progress loop
#define BRIEF_BYTES (16 * 1024) // copied in less time than it takes to wake a thread

// True when a look is due although nothing is outstanding.
static bool network_wants_a_look(struct co_engine *engine)
{
    if (engine->mcast == NULL) {
        return false;
    }
    // relaxed, and not one step: a lost count delays a look by one call
    unsigned polls = co_load_relaxed(&engine->polls);
    co_store_relaxed(&engine->polls, polls + 1);
    bool is_due = polls % (co_load_relaxed(&engine->network_is_busy) ? BUSY_NETWORK_POLLS : IDLE_NETWORK_POLLS) == 0;
    if (is_due) {
        co_descriptors_look(engine);
    }
    return is_due;
}

static void note_busy(struct co_engine *engine)
{
    bool is_busy = !co_mcast_is_idle(engine->mcast);
    bool was_busy = co_load_relaxed(&engine->network_is_busy);
    if (is_busy != was_busy) {
        co_store_relaxed(&engine->network_is_busy, is_busy); // relaxed: tells only how often to look
        if (is_busy) {
            co_workers_notice(engine);
        }
    }
}

static void give_network_up(struct co_engine *engine, int error)
{
    co_log(CO_LOG_ERROR, CO_SUBSYS_ENGINE, "the network transport broke (error %d): operations between nodes fail",
           -error);
    co_store_relaxed(&engine->network_error, error); // relaxed: read under the lock
    co_store_relaxed(&engine->network_is_busy, false);
    if (engine->native_channel != NULL && engine->message_policy == CO_YES) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "messages between hosts go on, but who ends is not noticed any more");
    }
    co_mcast_abort(engine->mcast, error);
    co_messages_let_go(engine);
}

// Of operations; repeated questions of neighbours are events, too, but no progress.
static void note_advance(struct co_engine *engine, int of_tasks)
{
    engine->task_advances += (uint64_t)of_tasks;
    uint64_t of_network = engine->mcast == NULL ? 0 : co_mcast_advances(engine->mcast);
    co_store_relaxed(&engine->advances, engine->task_advances + of_network); // relaxed: one writer, a hint
}

// Lock held. Ended ones are told at once: their callers may sleep.
static int move_tasks(struct co_engine *engine, uint64_t now_ns)
{
    struct co_tasks_turn turn = co_tasks_progress(engine, now_ns);
    if (turn.has_ended) {
        co_callers_wake(engine);
    }
    return turn.events;
}

static int move_network(struct co_engine *engine, uint64_t now_ns, bool must_look)
{
    if (co_load_relaxed(&engine->network_error) != 0 ||
        (!must_look && co_mcast_is_idle(engine->mcast) && ++engine->idle_looks % IDLE_NETWORK_TURNS != 0)) {
        return 0;
    }
    int moved = co_mcast_progress(engine->mcast, now_ns);
    if (moved < 0) {
        give_network_up(engine, moved);
        return 1 + move_tasks(engine, now_ns);
    }
    if (moved > 0) {
        moved += move_tasks(engine, now_ns);
    }
    note_busy(engine);
    co_workers_send(engine);
    return moved;
}

// Lock held.
static int move(struct co_engine *engine, bool must_look)
{
    uint64_t now_ns = co_clock_now_ns();
    if (engine->mcast != NULL && co_load_relaxed(&engine->network_error) == 0 && co_descriptors_are_lost(engine)) {
        give_network_up(engine, -EBADF);
    }
    int events = move_tasks(engine, now_ns), of_tasks = events;
    if (engine->mcast != NULL) {
        events += move_network(engine, now_ns, must_look);
    }
    if (events > 0) {
        note_advance(engine, of_tasks);
        co_store_relaxed(&engine->events, co_load_relaxed(&engine->events) + 1); // relaxed: one writer, a hint
    }
    return events;
}

// Of a caller: workers keep away.
static void note_turn(struct co_engine *engine)
{
    co_store_relaxed(&engine->turns, co_load_relaxed(&engine->turns) + 1); // relaxed: any change will do
}

static int move_operations(struct co_engine *engine)
{
    // relaxed: a submission that is missed now is seen at the next turn
    bool has_tasks = co_load_relaxed(&engine->outstanding) > 0;
    if (!has_tasks && !network_wants_a_look(engine)) {
        return 0;
    }
    if (has_tasks) {
        note_turn(engine);
    }
    if (!co_trylock_take(&engine->lock)) {
        return 0;
    }
    int events = move(engine, !has_tasks);
    co_trylock_drop(&engine->lock);
    return events;
}

static int progress(struct co_engine *engine, bool moves_messages, bool inside)
{
    if (co_load_relaxed(&engine->is_abandoned)) {
        return 0;
    }
    int events = moves_messages ? co_messages_progress(engine, inside) : 0;
    events += move_operations(engine);
    if (co_load_relaxed(&engine->has_more_to_move)) { // relaxed: whoever sees it first
        co_store_relaxed(&engine->has_more_to_move, false);
        events += engine->p2p != NULL ? co_messages_progress(engine, inside) : 0; // it may not come back for long
        co_engine_proxies_move(engine);
    }
    return events;
}

int co_engine_progress(struct co_engine *engine)
{
    return progress(engine, engine->p2p != NULL, false);
}

// Who is in a native call waits for something else, and a look at each peer would slow that down.
static bool messages_are_due(struct co_engine *engine)
{
    // relaxed, and not one step: a lost count delays a look by one call
    unsigned turn = co_load_relaxed(&engine->native_turns) + 1;
    co_store_relaxed(&engine->native_turns, turn);
    return turn % MESSAGES_EVERY == 0 || engine->native_channel != NULL;
}

int co_engine_progress_inside(struct co_engine *engine)
{
    if (co_messages_are_in_background()) {
        return 0;
    }
    return progress(engine, engine->p2p != NULL && messages_are_due(engine), true);
}

int co_engine_poll(struct co_engine *engine)
{
    // relaxed, and not one step: a lost count delays a look
    unsigned glances = co_load_relaxed(&engine->glances) + 1;
    co_store_relaxed(&engine->glances, glances);
    if (glances % GLANCES_FOR_THE_GONE == 0 && !co_load_relaxed(&engine->is_abandoned)) {
        co_peer_failure_poll(engine);
    }
    if (co_load_relaxed(&engine->outstanding) > 0) { // relaxed: a hint
        co_descriptors_look(engine);
    }
    if (glances % GLANCES_FOR_PROXIES == 0 && co_engine_proxies_awaited(engine) != NULL) {
        co_engine_proxies_look(engine, co_clock_now_ns());
    }
    return co_engine_progress(engine);
}

// Inside a node, and so short that a worker who is woken for it comes when it could have been over.
static bool is_brief(const struct co_task *task)
{
    return task->team->facts.nodes == 1 && co_task_total_bytes(task) <= BRIEF_BYTES;
}

// Inside a node, and no thread moves it before this rank is in a call of ours again, or of native's that moves us: the
// others take from here what they can, and some of native's calls (MPI_Comm_accept) sleep until then.
static bool is_left_alone(const struct co_task *task)
{
    return task->team->facts.nodes == 1 && task->team->engine->workers == NULL;
}

void co_task_submit(struct co_task *task)
{
    struct co_engine *engine = task->team->engine;
    if (task->team->facts.nodes > 1) {
        co_descriptors_look(engine);
    }
    // acquire K2: nothing outstanding, so its memory is ours.
    bool starts_here = task->is_background && (is_brief(task) || is_left_alone(task)) &&
                       co_load_acquire(&task->team->outstanding) == 0;
    task->is_long =
        !task->is_background && co_workers_want(engine, task->team->facts.nodes > 1, co_task_total_bytes(task));
    task->is_background = task->is_background || task->is_long;
    if (co_task_begin(task, starts_here)) { // at the price of a blocking one: most of it would be queue and lock
        return;
    }
    // Alone in the background: who starts here counts as a caller who moves the engine, and workers keep away from
    // those. relaxed: a hint
    starts_here = starts_here && co_load_relaxed(&engine->background) == 1;
    // Beside a long one our caller sleeps too, and moves nothing. relaxed: who pushed a long one before us counted it
    // before that (Q1); who does it later has them look, and they find ours.
    bool is_beside_long = co_load_relaxed(&engine->long_ones) > 0;
    if (starts_here && !is_beside_long) {
        note_turn(engine);
        co_workers_notice(engine); // who looks for the rest now and then, where no call does
    } else if (task->is_background || is_beside_long) {
        co_workers_wake(engine);
    }
}

uint64_t co_engine_moves(const struct co_engine *engine)
{
    return co_load_relaxed(&engine->events) + co_messages_advances(engine); // relaxed: a hint
}

uint64_t co_engine_ends(const struct co_engine *engine)
{
    return atomic_load(&engine->completed) + (engine->p2p == NULL ? 0 : co_p2p_ends(engine->p2p));
}

int co_engine_progress_held(struct co_engine *engine)
{
    return move(engine, true);
}

int co_engine_progress_for_worker(struct co_engine *engine)
{
    if (!co_trylock_take(&engine->lock)) {
        return -EBUSY;
    }
    // A caller counts itself before it takes the lock for its descriptors: either it is seen here, or it finds the
    // lock taken and does not sleep. So no datagram is taken away from under a sleeper.
    // Who sleeps on a descriptor of the workers' (split) is woken by them.
    bool leaves_it = co_load_relaxed(&engine->sleepers) > 0 && !co_workers_are_split(engine);
    int events = leaves_it ? 0 : move(engine, true);
    co_trylock_drop(&engine->lock);
    return events;
}

void co_engine_abandon(struct co_engine *engine)
{
    co_store_relaxed(&engine->is_abandoned, true); // relaxed: the forked child has one thread
}
