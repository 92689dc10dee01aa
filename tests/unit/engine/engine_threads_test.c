// SPDX-License-Identifier: BSD-3-Clause
//
// Several threads of a rank in calls at the same time, with workers split by direction and subgroup: a small operation
// that the other rank needs before it comes to the long one another thread waits for, and many long ones at once.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/progress/progress.h"
#include "engine_inside.h"
#include "engine_job.h"

enum { LONG = 1500003, SMALL = 777, ROUNDS = 20, THREADS = 4 };

struct call {
    struct job_rank *rank;
    struct co_team *team;
    int root;
    size_t bytes;
    int times;
    pthread_t thread;
};

static void *make_call(void *arg)
{
    struct call *call = arg;
    unsigned char *buffer = malloc(call->bytes);
    for (int i = 0; i < call->times; i++) {
        memset(buffer, call->rank->rank == call->root ? i + 1 : 0, call->bytes);
        job_require(co_team_bcast(call->team, call->root, buffer, call->bytes, NULL) == 0, "bcast");
        for (size_t k = 0; k < call->bytes; k++) {
            job_require(buffer[k] == (unsigned char)(i + 1), "wrong bytes");
        }
    }
    free(buffer);
    return NULL;
}

static void begin_call(struct call *call)
{
    job_require(pthread_create(&call->thread, NULL, make_call, call) == 0, "no thread");
}

// The long one of another thread, for which nothing has come yet, stands here as a number: no timer of it runs, and the
// workers sleep until they are called. A small one that nobody tells them about would never leave.
static void small_while_all_sleep(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 30);
    struct call small_one = {.rank = rank, .team = team, .root = 0, .bytes = SMALL, .times = 1};
    if (rank->rank == 0) {
        // Who finds the engine held must know: the holder need not be one who moves it.
        inside_lock(rank->engine);
        job_require(co_engine_progress_for_worker(rank->engine) == -EBUSY, "a held engine looks like one at rest");
        inside_unlock(rank->engine);
        inside_add_long_ones(rank->engine, 1);
        while (!inside_first_worker_sleeps(rank->engine)) {
            sched_yield();
        }
        make_call(&small_one); // a copy is kept for the other rank, which comes later
        inside_add_long_ones(rank->engine, -1);
    }
    pthread_barrier_wait(&rank->job->all);
    if (rank->rank == 1) {
        make_call(&small_one);
    }
    co_team_close(team);
}

// Rank 0 has the long one under way, for which the others come only after the small one.
static void small_beside_long(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 31), *other = engine_job_world(rank, 32);
    for (int round = 0; round < ROUNDS; round++) {
        struct call small_one = {.rank = rank, .team = other, .root = 0, .bytes = SMALL, .times = 1};
        struct call long_one = {.rank = rank, .team = team, .root = 1, .bytes = LONG, .times = 1};
        if (rank->rank != 0) {
            make_call(&small_one);
            make_call(&long_one);
            continue;
        }
        begin_call(&long_one);
        while (inside_long_ones(rank->engine) == 0) {
            sched_yield();
        }
        make_call(&small_one);
        pthread_join(long_one.thread, NULL);
    }
    co_team_close(team);
    co_team_close(other);
}

static void many_long_ones(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct call calls[THREADS];
    for (int i = 0; i < THREADS; i++) {
        calls[i] = (struct call){.rank = rank,
                                 .team = engine_job_world(rank, 40 + (uint64_t)i),
                                 .root = i % rank->job->size,
                                 .bytes = i == 0 ? SMALL : LONG,
                                 .times = i == 0 ? 4 * ROUNDS : 4};
        begin_call(&calls[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(calls[i].thread, NULL);
        co_team_close(calls[i].team);
    }
}

static void a_small_one_needs_no_end_of_a_long_one(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 1}, small_beside_long);
    engine_job_run(3, (const int[]){0, 1, 1}, small_beside_long);
}

static void a_small_one_is_told_to_the_workers(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 1}, small_while_all_sleep);
}

static void threads_wait_side_by_side(void **state)
{
    (void)state;
    engine_job_run(3, (const int[]){0, 1, 2}, many_long_ones);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_one_is_told_to_the_workers),
        cmocka_unit_test(a_small_one_needs_no_end_of_a_long_one),
        cmocka_unit_test(threads_wait_side_by_side),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up_split, NULL);
}
