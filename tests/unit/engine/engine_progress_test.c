// SPDX-License-Identifier: BSD-3-Clause
//
// Who moves a nonblocking operation: the worker while nobody calls, callers where there is no worker; a start returns
// whatever the others do; a communicator may be closed before its operations end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "engine_inside.h"
#include "engine_job.h"

enum { BLOCK = 30000, BRIEF_BLOCK = 1000, PIECES = 5 };

static unsigned char *gather_buffer(const struct job_rank *rank)
{
    unsigned char *all = calloc((size_t)rank->job->size, BLOCK);
    memset(all + (size_t)rank->rank * BLOCK, rank->rank + 1, BLOCK);
    return all;
}

static void require_gathered(const struct job_rank *rank, const unsigned char *all)
{
    for (int source = 0; source < rank->job->size; source++) {
        for (size_t i = 0; i < BLOCK; i++) {
            job_require(all[(size_t)source * BLOCK + i] == source + 1, "wrong bytes");
        }
    }
}

static void nobody_calls(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    struct co_task *tasks[PIECES] = {NULL};
    unsigned char *all[PIECES];
    for (int i = 0; i < PIECES; i++) {
        all[i] = gather_buffer(rank);
        job_require(co_team_iallgather(&tasks[i], team, CO_CALL_IALLGATHER, NULL, all[i], BLOCK) == 0, "iallgather");
    }
    for (int i = 0; i < PIECES; i++) {
        while (!co_task_is_done(tasks[i])) {
            sched_yield(); // never into the engine
        }
        job_require(co_task_result(tasks[i]) == 0, "result");
        require_gathered(rank, all[i]);
        co_task_release(tasks[i]);
        free(all[i]);
    }
    co_team_close(team);
}

static void run(int size, const int *nodes, const char *progress, void (*body)(struct job_rank *))
{
    engine_job_set("CASTOFF_PROGRESS", progress);
    engine_job_run(size, nodes, body);
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

static void a_worker_moves_everything(void **state)
{
    (void)state;
    uint64_t before = co_counter_read(CO_COUNT_PROGRESS_WORKER);
    run(2, (const int[]){0, 0}, "threads", nobody_calls);
    run(3, (const int[]){0, 1, 2}, "threads", nobody_calls);
    run(4, (const int[]){0, 1, 0, 1}, "threads", nobody_calls);
    assert_true(co_counter_read(CO_COUNT_PROGRESS_WORKER) > before);
}

static void brief_one_start(struct job_rank *rank, struct co_team *team, struct co_task **task, unsigned char *all)
{
    memset(all + (size_t)rank->rank * BRIEF_BLOCK, rank->rank + 1, BRIEF_BLOCK);
    *task = NULL;
    job_require(co_team_iallgather(task, team, CO_CALL_IALLGATHER, NULL, all, BRIEF_BLOCK) == 0, "iallgather");
}

static void brief_one_end(const struct job_rank *rank, struct co_task *task, const unsigned char *all)
{
    job_require(co_task_is_done(task) && co_task_result(task) == 0, "result");
    for (int source = 0; source < rank->job->size; source++) {
        job_require(all[(size_t)source * BRIEF_BLOCK] == source + 1, "wrong bytes");
        job_require(all[(size_t)(source + 1) * BRIEF_BLOCK - 1] == source + 1, "wrong bytes at the end");
    }
    co_task_release(task);
}

// The first rank makes no call between its start and the others' end.
static void brief_ones_go_out(struct job_rank *rank)
{
    enum { LOOKS = 1000000 };
    unsigned char all[3 * BRIEF_BLOCK] = {0};
    struct co_task *task = NULL;
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    brief_one_start(rank, team, &task, all);
    pthread_barrier_wait(&rank->job->all);
    for (int i = 0; rank->rank > 0 && i < LOOKS && !co_task_is_done(task); i++) {
        co_engine_progress(rank->engine);
    }
    job_require(rank->rank == 0 || co_task_is_done(task),
                "a brief one waits for a call of somebody who has started it");
    pthread_barrier_wait(&rank->job->all);
    while (!co_task_is_done(task)) {
        co_engine_progress(rank->engine);
    }
    brief_one_end(rank, task, all);
    co_team_close(team);
}

static void what_is_brief_goes_out_at_its_start(void **state)
{
    (void)state;
    run(2, (const int[]){0, 0}, "caller", brief_ones_go_out);
    run(3, (const int[]){0, 0, 0}, "caller", brief_ones_go_out);
}

// Another thread may have the engine: each start ends its operation, of which nothing is left to wait for.
static void brief_ones_end_at_their_start(struct job_rank *rank)
{
    struct co_task *task = NULL;
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    for (int root = 0; root < rank->job->size; root++) {
        int value = rank->rank == root ? 4711 + root : 0;
        inside_lock(rank->engine);
        if (rank->rank != root) {
            pthread_barrier_wait(&rank->job->all);
        }
        job_require(co_team_ibcast(&task, team, CO_CALL_IBCAST, root, &value, sizeof value) == 0, "ibcast");
        job_require(co_task_is_done(task) && co_task_result(task) == 0, "its start has not ended it");
        if (rank->rank == root) {
            pthread_barrier_wait(&rank->job->all);
        }
        inside_unlock(rank->engine);
        job_require(value == 4711 + root, "wrong bytes");
    }
    co_task_release(task);
    co_team_close(team);
}

static void what_can_end_at_its_start_does(void **state)
{
    (void)state;
    run(2, (const int[]){0, 0}, "caller", brief_ones_end_at_their_start);
    run(3, (const int[]){0, 0, 0}, "threads", brief_ones_end_at_their_start);
}

// Nobody calls; and the worker has slept before each.
static void brief_ones_end_by_themselves(struct job_rank *rank)
{
    unsigned char all[3 * BRIEF_BLOCK];
    struct co_task *task = NULL;
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    for (int i = 0; i < PIECES; i++) {
        memset(all, 0, sizeof all);
        brief_one_start(rank, team, &task, all);
        while (!co_task_is_done(task)) {
            sched_yield(); // never into the engine
        }
        brief_one_end(rank, task, all);
        pthread_barrier_wait(&rank->job->all);
    }
    co_team_close(team);
}

static void a_worker_ends_what_is_brief(void **state)
{
    (void)state;
    run(2, (const int[]){0, 0}, "threads", brief_ones_end_by_themselves);
    run(3, (const int[]){0, 0, 0}, "threads", brief_ones_end_by_themselves);
}

static void callers_only(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    unsigned char *all = gather_buffer(rank);
    struct co_task *task = NULL;
    job_require(co_team_iallgather(&task, team, CO_CALL_IALLGATHER, NULL, all, BLOCK) == 0, "iallgather");
    pthread_barrier_wait(&rank->job->all);
    job_require(!co_task_is_done(task), "the start has moved it although nobody else may");
    pthread_barrier_wait(&rank->job->all);
    while (!co_task_is_done(task)) {
        co_engine_progress(rank->engine);
    }
    require_gathered(rank, all);
    co_task_release(task);
    free(all);
    co_team_close(team);
}

static void without_a_worker_callers_do(void **state)
{
    (void)state;
    run(3, (const int[]){0, 1, 1}, "caller", callers_only);
}

// The root has started, and calls nothing until the others have all: here they take it from where its start has left
// it.
static void root_calls_nothing(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    for (int root = 0; root < rank->job->size; root++) {
        unsigned char *block = calloc(1, BLOCK);
        struct co_task *task = NULL;
        memset(block, rank->rank == root ? root + 1 : 0, BLOCK);
        job_require(co_team_ibcast(&task, team, CO_CALL_IBCAST, root, block, BLOCK) == 0, "ibcast");
        while (rank->rank != root && !co_task_is_done(task)) {
            co_engine_progress(rank->engine);
            sched_yield();
        }
        pthread_barrier_wait(&rank->job->all);
        while (!co_task_is_done(task)) {
            co_engine_progress(rank->engine);
        }
        job_require(block[0] == root + 1 && memcmp(block, block + 1, BLOCK - 1) == 0, "wrong bytes");
        co_task_release(task);
        free(block);
    }
    co_team_close(team);
}

static void a_root_need_not_come_back(void **state)
{
    (void)state;
    run(2, (const int[]){0, 0}, "caller", root_calls_nothing);
    run(3, (const int[]){0, 0, 0}, "caller", root_calls_nothing);
}

static void finish_gathering(struct job_rank *rank, struct co_task *task, unsigned char *all)
{
    struct co_wait wait = {.call = "test"};
    while (!co_task_is_done(task)) {
        co_engine_wait_turn(rank->engine, &wait);
    }
    require_gathered(rank, all);
    co_task_release(task);
    free(all);
}

// R0: Iallgather, Send(1) / R1: Recv(0), Iallgather must not deadlock: the barrier stands for the message.
static void one_starts_first(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3);
    unsigned char *all = gather_buffer(rank);
    struct co_task *task = NULL;
    if (rank->rank != 0) {
        pthread_barrier_wait(&rank->job->all);
    }
    job_require(co_team_iallgather(&task, team, CO_CALL_IALLGATHER, NULL, all, BLOCK) == 0, "iallgather");
    if (rank->rank == 0) {
        pthread_barrier_wait(&rank->job->all);
    }
    finish_gathering(rank, task, all);
    co_team_close(team);
}

static void a_start_waits_for_nobody(void **state)
{
    (void)state;
    static const char *const modes[] = {"caller", "threads"};
    for (int i = 0; i < 2; i++) {
        run(3, (const int[]){0, 0, 0}, modes[i], one_starts_first);
        run(3, (const int[]){0, 1, 2}, modes[i], one_starts_first);
        run(4, (const int[]){0, 1, 1, 0}, modes[i], one_starts_first);
    }
}

static void closed_while_under_way(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    for (uint64_t turn = 0; turn < 20; turn++) {
        struct co_team *team = engine_job_world(rank, 100 + turn);
        unsigned char *all = gather_buffer(rank);
        struct co_task *task = NULL;
        job_require(co_team_iallgather(&task, team, CO_CALL_IALLGATHER, NULL, all, BLOCK) == 0, "iallgather");
        co_team_close(team);
        finish_gathering(rank, task, all);
    }
}

static void a_team_may_close_first(void **state)
{
    (void)state;
    static const char *const modes[] = {"caller", "threads"};
    for (int i = 0; i < 2; i++) {
        run(2, (const int[]){0, 0}, modes[i], closed_while_under_way);
        run(3, (const int[]){0, 1, 2}, modes[i], closed_while_under_way);
        run(3, (const int[]){0, 0, 1}, modes[i], closed_while_under_way);
    }
}

static void empty_and_alone(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 3), *alone = engine_job_team(rank, 4, &rank->rank, 1);
    unsigned char byte = (unsigned char)rank->rank, copy = 99;
    job_require(co_team_bcast(team, 1, NULL, 0, NULL) == 0, "bcast of nothing");
    job_require(co_team_allgather(team, NULL, NULL, 0) == 0, "allgather of nothing");
    job_require(co_team_bcast(alone, 0, &byte, 1, NULL) == 0 && byte == rank->rank, "bcast alone");
    job_require(co_team_allgather(alone, &byte, &copy, 1) == 0 && copy == byte, "allgather alone");
    co_team_close(alone);
    co_team_close(team);
}

static void nothing_to_move_is_no_harm(void **state)
{
    (void)state;
    run(2, (const int[]){0, 0}, "caller", empty_and_alone);
    run(3, (const int[]){0, 1, 1}, "caller", empty_and_alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_moves_everything),   cmocka_unit_test(without_a_worker_callers_do),
        cmocka_unit_test(a_start_waits_for_nobody),    cmocka_unit_test(a_team_may_close_first),
        cmocka_unit_test(nothing_to_move_is_no_harm),  cmocka_unit_test(what_is_brief_goes_out_at_its_start),
        cmocka_unit_test(a_worker_ends_what_is_brief), cmocka_unit_test(what_can_end_at_its_start_does),
        cmocka_unit_test(a_root_need_not_come_back),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
