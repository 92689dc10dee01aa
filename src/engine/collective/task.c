// SPDX-License-Identifier: BSD-3-Clause
//
// Operations from submission to completion. Any thread submits, without a lock; whoever holds the engine takes the
// submissions into their teams' lists and moves them. On a team with several ranks on a node one operation runs at a
// time; where every node has one rank, operations overlap, started strictly in the order of their submission. So many
// at a time alone: each turn looks at all that have begun, here and in the protocol, and programs may have thousands
// outstanding. The oldest one of all members has begun everywhere, or its call has not been made, so nothing waits in a
// circle.
#include "engine/collective/task.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/collective/collective.h"
#include "engine/collective/team.h"
#include "engine/engine_state.h"
#include "engine/progress/team_failure.h"
#include "mcast/mcast.h"
#include "shm/shm.h"

#define UNDER_WAY_MOST 256

static void enlist(struct co_task *task)
{
    struct co_team *team = task->team;
    task->next = NULL;
    *team->newest = task;
    team->newest = &task->next;
    if (!team->is_active) {
        team->is_active = true;
        team->next_active = team->engine->active;
        team->engine->active = team;
    }
}

static int take_submissions(struct co_engine *engine)
{
    int taken = 0;
    struct co_mpsc_node *node;
    while ((node = co_mpsc_queue_pop(&engine->submissions)) != NULL) {
        enlist((struct co_task *)node);
        taken++;
    }
    return taken;
}

static void note_memory(struct co_task *task, bool is_in_memory)
{
    if (is_in_memory != task->is_in_memory) {
        task->is_in_memory = is_in_memory;
        co_add_relaxed(&task->team->engine->in_memory, is_in_memory ? 1u : -1u); // relaxed: a hint for sleepers
    }
}

static bool is_in_memory(const struct co_task *task)
{
    return task->has_begun && task->at < task->steps && co_step_is_in_memory(task->plan[task->at]);
}

// Starts the step that it has come to; afterwards poll tells.
static int begin_step(struct co_task *task, uint64_t now_ns)
{
    task->has_begun = true;
    return co_collective_begin(task, now_ns);
}

// 0: under way, 1: done, negative: failed.
static int run_steps(struct co_task *task, uint64_t now_ns, bool *has_moved)
{
    int status = 0;
    if (!task->has_begun) {
        if (task->team->shm != NULL) {
            co_team_skip_to(task->team, task->skipped_in_memory);
        }
        status = co_collective_plan(task);
        status = status == 0 && task->steps > 0 ? begin_step(task, now_ns) : status;
    }
    while (status == 0 && task->at < task->steps) {
        status = co_collective_poll(task, has_moved);
        if (status == 0) {
            note_memory(task, is_in_memory(task));
            return 0;
        }
        if (status > 0) {
            *has_moved = true;
            status = ++task->at == task->steps ? co_collective_plan_next(task) : 0;
            status = status == 0 && task->at < task->steps ? begin_step(task, now_ns) : status;
        }
    }
    return status < 0 ? status : 1;
}

// By its root, which was called with another length: a blocking one can follow it.
static bool is_let_go(const struct co_task *task, int status)
{
    return status == -ECANCELED && task->request.call == CO_CALL_BCAST;
}

// Moves one task as far as it goes. True: it ended, result is set.
static bool advance(struct co_task *task, uint64_t now_ns, bool *has_moved)
{
    struct co_team *team = task->team;
    int broken = co_load_relaxed(&team->broken); // relaxed: written under the same lock
    int status = broken != 0 && !task->has_begun ? broken : run_steps(task, now_ns, has_moved);
    if (status == 0) {
        return false;
    }
    if (status < 0 && !is_let_go(task, status)) {
        co_team_break(team, status); // the group with it, so that the operation below is over
        if (task->net != NULL) {
            co_mcast_op_release(task->net);
        } else if (is_in_memory(task)) {
            co_shm_op_abandon(&task->shm);
        }
    }
    note_memory(task, false);
    task->result = status < 0 ? status : task->whole != NULL || task->was_cut ? -EMSGSIZE : 0;
    return true;
}

// On the network. Of one with several steps, more operations may follow until it ends.
static void note_all_begun(struct co_task *task)
{
    if (task->team->group != NULL && !task->has_all_begun) {
        task->has_all_begun = true;
        co_mcast_group_call_begun(task->team->group);
    }
}

// The owner may be gone as soon as he sees is_done: nothing of the task is touched afterwards.
static void complete(struct co_task *task)
{
    struct co_engine *engine = task->team->engine;
    note_all_begun(task);
    co_collective_finish(task, task->result == 0);
    // release K2: the next operation may run elsewhere, on its caller's stack.
    co_sub_acq_rel(&task->team->outstanding, 1);
    // relaxed: these counts only say whether to look, K1 publishes the end.
    if (task->is_background) {
        co_sub_relaxed(&engine->background, 1);
    }
    if (task->is_long) {
        co_sub_relaxed(&engine->long_ones, 1);
    }
    co_sub_relaxed(&engine->outstanding, 1);
    co_store_release(&task->is_done, 1);     // release K1, read by K1 in co_task_is_done: result and bytes are there
    atomic_fetch_add(&engine->completed, 1); // before the look at sleepers in co_callers_wake
}

// Which way the next operation goes has yet to be heard in one under way. Where nodes have several ranks none is.
static bool is_held_up(const struct co_task *task)
{
    const struct co_team *team = task->team;
    bool is_broken = co_load_relaxed(&team->broken) != 0; // relaxed: written under the same lock
    return team->group != NULL && !is_broken &&
           !(co_mcast_group_skip_to(team->group, task->skipped) && co_mcast_group_may_start(team->group));
}

static void advance_team(struct co_team *team, uint64_t now_ns, struct co_tasks_turn *turn)
{
    struct co_task **link = &team->oldest;
    int under_way = 0;
    while (*link != NULL) {
        struct co_task *task = *link;
        if (!task->has_begun && is_held_up(task)) {
            break;
        }
        bool has_moved = false, has_ended = advance(task, now_ns, &has_moved);
        turn->events += has_moved || has_ended;
        turn->has_ended = turn->has_ended || has_ended;
        if (team->is_flat) {
            note_all_begun(task);
        }
        if (!has_ended) {
            under_way++;
            if (under_way == (team->is_flat ? UNDER_WAY_MOST : 1)) {
                break; // the next one waits for this one
            }
            link = &task->next;
            continue;
        }
        *link = task->next;
        if (*link == NULL) {
            team->newest = link;
        }
        complete(task);
    }
}

static void note_calls(struct co_task *task)
{
    task->bcast = task->team->bcasts.called;
    task->skipped_in_memory = task->team->bcasts.skipped;
}

static void enqueue(struct co_task *task)
{
    struct co_engine *engine = task->team->engine;
    assert(task->request.team_id == task->team->id);
    note_calls(task);
    task->skipped = task->team->group != NULL ? co_mcast_group_call(task->team->group) : 0;
    // relaxed: the counts only say whether to look; the queue publishes the task (Q1, Q2 in mpsc_queue.h).
    co_add_relaxed(&task->team->outstanding, 1);
    co_add_relaxed(&engine->outstanding, 1);
    if (task->is_background) {
        co_add_relaxed(&engine->background, 1);
    }
    if (task->is_long) {
        co_add_relaxed(&engine->long_ones, 1);
    }
    co_mpsc_queue_push(&engine->submissions, &task->submitted);
}

// A first turn, without lock and queue. True: it is done.
static bool end_here(struct co_task *task)
{
    bool has_moved = false;
    assert(task->team->facts.nodes == 1);
    note_calls(task);
    if (!advance(task, 0, &has_moved)) { // no step of it needs to know the time
        return false;
    }
    co_collective_finish(task, task->result == 0);
    co_store_relaxed(&task->is_done, 1); // relaxed: nobody else has seen it
    return true;
}

bool co_task_begin(struct co_task *task, bool is_callers)
{
    if (is_callers && end_here(task)) {
        return true;
    }
    enqueue(task);
    return false;
}

struct co_tasks_turn co_tasks_progress(struct co_engine *engine, uint64_t now_ns)
{
    struct co_tasks_turn turn = {.events = take_submissions(engine)};
    struct co_team **link = &engine->active;
    while (*link != NULL) {
        struct co_team *team = *link;
        advance_team(team, now_ns, &turn);
        if (team->oldest != NULL) {
            link = &team->next_active;
            continue;
        }
        *link = team->next_active;
        team->is_active = false;
        // acquire K2: one that is still on its way into the queue counts
        if (team->is_closing && co_load_acquire(&team->outstanding) == 0) {
            co_team_reap(team);
        }
    }
    return turn;
}

void co_tasks_describe(const struct co_engine *engine, char *text, size_t room)
{
    const struct co_task *task = engine->active == NULL ? NULL : engine->active->oldest;
    char inner[160] = "its turn";
    if (task == NULL) {
        snprintf(text, room, "nothing of castoff's");
        return;
    }
    if (task->has_begun && task->at < task->steps) {
        if (task->net != NULL) {
            co_mcast_op_describe(task->net, inner, sizeof(inner));
        } else {
            co_shm_op_describe(&task->shm, inner, sizeof(inner));
        }
    }
    snprintf(text, room, "%s of %zu bytes on %d ranks, step %d of %d, waits for %s",
             co_call_text((enum co_call)task->request.call), (size_t)task->request.bytes, task->team->size,
             task->at + 1, task->steps, inner);
}

bool co_task_is_done(const struct co_task *task)
{
    return co_load_acquire(&((struct co_task *)task)->is_done) != 0; // acquire K1
}

int co_task_result(const struct co_task *task)
{
    return task->result;
}

size_t co_task_bytes(const struct co_task *task)
{
    return (size_t)task->request.bytes;
}

void co_task_release(struct co_task *task)
{
    free(task);
}
