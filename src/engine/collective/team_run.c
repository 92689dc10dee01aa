// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of a team that are not one-sided (blocking.c). The hot path is here: a team on one node with nothing
// outstanding runs its operation on the caller's stack, without lock, queue, allocation or clock. Everything else
// becomes a task.
#include "engine/collective/team_run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/collective/collective.h"
#include "engine/collective/unequal_blocks.h"
#include "engine/collective/task.h"
#include "engine/collective/team.h"
#include "engine/engine_state.h"
#include "engine/progress/progress.h"
#include "engine/progress/team_failure.h"
#include "engine/progress/wake_sleepers.h"
#include "mcast/mcast.h"
#include "shm/shm.h"

#define INLINE_POLLS 200 // before a waiting call looks beyond its own operation
#define INLINE_YIELDS 32 // likewise, when each turn yields the processor

// Nothing outstanding on a team of one node: nobody else touches its shared memory, so no lock is needed.
static bool can_run_inline(struct co_team *team)
{
    return team->runs_inline && co_load_acquire(&team->outstanding) == 0; // acquire K2
}

// The first part of a wait looks at nothing but the operation. With more ranks than cores the one we wait for needs
// our processor: every turn gives it up.
static int poll_inline(const struct co_team *team, struct co_shm_op *op)
{
    int polls = team->facts.is_oversubscribed ? INLINE_YIELDS : INLINE_POLLS;
    for (int turn = 0; turn < polls; turn++) {
        int state = co_shm_op_progress(op);
        if (state != 0) {
            return state;
        }
        if (team->facts.is_oversubscribed) {
            sched_yield();
        } else {
            co_cpu_relax();
        }
    }
    return 0;
}

static int wait_inline(struct co_team *team, struct co_shm_op *op, const char *call)
{
    struct co_wait wait = {.call = call, .inline_op = op};
    int state;
    while ((state = co_shm_op_progress(op)) == 0 && (state = co_shm_op_look_at_lengths(op)) == 0 &&
           (state = co_team_failure(team)) == 0) {
        co_engine_wait_turn(team->engine, &wait);
    }
    return state;
}

static int run_inline(struct co_team *team, struct co_shm_op *op, const char *call)
{
    int state = poll_inline(team, op);
    state = state == 0 ? wait_inline(team, op, call) : state;
    if (state == 1) {
        return 0;
    }
    if (state < 0 && state != -ECANCELED) {
        int failure = co_team_failure(team); // somebody's before, of which this one may follow
        state = failure != 0 ? failure : state;
        co_team_break(team, state);
        co_shm_op_abandon(op);
    }
    free(op->whole);
    return state == CO_SHM_TRUNCATED ? -EMSGSIZE : state;
}

static int run_blocking(struct co_task *task, const char *call)
{
    struct co_engine *engine = task->team->engine;
    struct co_wait wait = {.call = call, .is_call = true};
    bool is_trial = co_workers_are_tried(engine, task->team->facts.nodes > 1, co_task_total_bytes(task));
    uint64_t begun_ns = is_trial ? co_clock_now_ns() : 0;
    co_task_submit(task);
    while (!co_task_is_done(task)) {
        co_engine_wait_turn(engine, &wait);
    }
    if (is_trial) {
        co_workers_tried(engine, co_task_total_bytes(task), begun_ns);
    }
    return task->result;
}

static struct co_task_request request_of(const struct co_team *team, enum co_call call, void *buffer, size_t bytes)
{
    return (struct co_task_request){.team_id = team->id, .bytes = bytes, .buffer = (uintptr_t)buffer, .call = call};
}

static void tell_length(size_t *came, size_t room, size_t given)
{
    if (came != NULL) {
        *came = given < room ? given : room;
    }
}

int co_team_run_allgather(struct co_team *team, const void *mine, void *all, size_t bytes, const char *call)
{
    if (can_run_inline(team)) {
        struct co_shm_op op;
        co_team_skip_to(team, team->bcasts.skipped);
        co_shm_allgather_start(&op, team->shm, mine, all, bytes);
        return run_inline(team, &op, call);
    }
    struct co_task task = {.team = team, .request = request_of(team, CO_CALL_ALLGATHER, all, bytes)};
    task.request.mine = (uintptr_t)mine;
    return run_blocking(&task, call);
}

int co_team_run_beside(struct co_team *team, struct co_shm_op *op, const char *call)
{
    int broken = co_load_relaxed(&team->broken); // relaxed: a hint, the wait looks at the others
    return broken != 0 ? broken : run_inline(team, op, call);
}

int co_team_exchange(struct co_team *team, const void *mine, void *all, size_t bytes, const char *call)
{
    int broken = co_load_relaxed(&team->broken); // relaxed: a hint, the task looks again
    return broken != 0 ? broken : co_team_run_allgather(team, mine, all, bytes, call);
}

// Its root has let a broadcast go to native (let_go.c): tells those to whom it was to give the bytes in its second
// step, if it has one. That has not begun.
static void pass_on(const struct co_task *task)
{
    struct co_team *team = task->team;
    if (task->at + 1 == task->steps) {
        return;
    }
    if (co_step_is_in_memory(task->plan[task->at])) {
        co_mcast_group_skip(team->group);
    } else {
        team->bcasts.skipped++;
        co_shm_team_let_go(team->shm, team->bcasts.called);
    }
}

int co_team_run_bcast(struct co_team *team, int root, void *buffer, size_t bytes, size_t *came)
{
    if (can_run_inline(team)) {
        struct co_shm_op op;
        co_team_skip_to(team, team->bcasts.skipped);
        co_shm_bcast_start(&op, team->shm, root, buffer, bytes);
        op.bcast = team->bcasts.called;
        int result = run_inline(team, &op, "MPI_Bcast");
        tell_length(came, bytes, op.bytes);
        return result;
    }
    struct co_task task = {.team = team, .request = request_of(team, CO_CALL_BCAST, buffer, bytes)};
    task.request.root = root;
    int result = run_blocking(&task, "MPI_Bcast");
    if (result == -ECANCELED) {
        pass_on(&task);
    }
    tell_length(came, bytes, (size_t)task.request.bytes);
    return result;
}

static int start_in_background(struct co_task **out, struct co_team *team, const struct co_task_request *request,
                               const struct co_block *blocks)
{
    // Not by calloc, which in glibc before 2.41 takes nothing from the thread's own cache of what was freed.
    struct co_task *task = *out != NULL ? *out : malloc(sizeof(*task));
    if (task == NULL) {
        return -ENOMEM;
    }
    memset(task, 0, sizeof(*task));
    task->team = team;
    task->request = *request;
    task->blocks = blocks;
    task->is_background = true;
    *out = task;
    co_task_submit(task);
    return 0;
}

int co_team_ibcast(struct co_task **out, struct co_team *team, enum co_call call, int root, void *buffer, size_t bytes)
{
    struct co_task_request request = request_of(team, call, buffer, bytes);
    request.root = root;
    return start_in_background(out, team, &request, NULL);
}

int co_team_iallgather(struct co_task **out, struct co_team *team, enum co_call call, const void *mine, void *all,
                       size_t block_bytes)
{
    struct co_task_request request = request_of(team, call, all, block_bytes);
    request.mine = (uintptr_t)mine;
    return start_in_background(out, team, &request, NULL);
}

// One member alone has bytes: a broadcast, which waits for nobody else.
static int gather_of_one(struct co_team *team, const struct co_block blocks[])
{
    struct co_shm_op op;
    int root = 0;
    while (blocks[root].bytes == 0) {
        root++;
    }
    uint64_t began = co_shm_team_call_begins(team->shm);
    co_shm_bcast_start(&op, team->shm, root, blocks[root].buffer, blocks[root].bytes);
    int state = run_inline(team, &op, "MPI_Allgatherv");
    if (state == 0 || (state == -EMSGSIZE && co_load_relaxed(&team->broken) == 0)) { // relaxed: set by us
        co_shm_team_call_ends(team->shm, began, team->size);
    }
    return state;
}

static int gather_blocks(struct co_team *team, const struct co_block blocks[])
{
    struct co_shm_op op;
    co_shm_allgatherv_start(&op, team->shm, blocks);
    return run_inline(team, &op, "MPI_Allgatherv");
}

int co_team_run_allgatherv(struct co_team *team, const struct co_block blocks[],
                           const struct co_unequal_blocks_shape *shape)
{
    if (!can_run_inline(team)) {
        struct co_task task = {
            .team = team, .request = request_of(team, CO_CALL_ALLGATHERV, NULL, shape->total), .blocks = blocks};
        return run_blocking(&task, "MPI_Allgatherv");
    }
    co_team_skip_to(team, team->bcasts.skipped);
    return shape->senders == 1 ? gather_of_one(team, blocks) : gather_blocks(team, blocks);
}

int co_team_iallgatherv(struct co_task **out, struct co_team *team, enum co_call call, const struct co_block blocks[])
{
    size_t total = co_unequal_blocks_measure(blocks, team->size).total;
    struct co_task_request request = request_of(team, call, NULL, total);
    return start_in_background(out, team, &request, blocks);
}
