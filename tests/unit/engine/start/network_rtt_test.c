// SPDX-License-Identifier: BSD-3-Clause
//
// Which way between nodes is shorter, found at the start: by an MPI below that answers at once, or never sooner than a
// datagram; and who answers hears of the end.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine_job.h"

enum { RANKS = 4, OTHER = 2 };

static const int two_each[RANKS] = {0, 0, 1, 1};
static _Atomic int pings, ends, echoes;
static _Atomic bool is_over;
static long answers_after_ns;

static int ping(void *arg, int rank, bool is_last)
{
    const struct job_rank *mine = arg;
    struct timespec pause = {.tv_nsec = answers_after_ns};
    job_require(mine->rank == 0 && rank == OTHER, "rank 0 asks the first of the other node");
    if (is_last) {
        atomic_fetch_add(&ends, 1);
        atomic_store(&is_over, true);
        return 0;
    }
    atomic_fetch_add(&pings, 1);
    if (answers_after_ns > 0) {
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int echo(void *arg, int rank)
{
    const struct job_rank *mine = arg;
    job_require(mine->rank == OTHER && rank == 0, "nobody else answers");
    atomic_fetch_add(&echoes, 1);
    return atomic_load(&is_over);
}

static bool says_native_is_nearer(const struct job_rank *rank)
{
    char text[1300];
    co_engine_describe(rank->engine, text, sizeof text);
    return strstr(text, "\nnative: much nearer") != NULL;
}

static void is_nearer(struct job_rank *rank)
{
    job_require(rank->open_status == 0 && says_native_is_nearer(rank), "all know that native is nearer");
}

static void is_not_nearer(struct job_rank *rank)
{
    job_require(rank->open_status < 0 || !says_native_is_nearer(rank), "nobody takes native for nearer");
}

static void run(const int *node_of_rank, long after_ns, void (*body)(struct job_rank *rank))
{
    pings = ends = echoes = 0;
    is_over = false;
    answers_after_ns = after_ns;
    engine_job_run(RANKS, node_of_rank, body);
}

static void one_that_answers_at_once_is_nearer(void **state)
{
    (void)state;
    run(two_each, 0, is_nearer);
    assert_true(pings > 2);
    assert_int_equal(ends, 1);
    assert_true(echoes > 0);
}

static void one_as_slow_as_any_patience_is_not(void **state)
{
    (void)state;
    run(two_each, 30000000, is_not_nearer); // a datagram that takes longer counts as lost
    assert_in_range(pings, 1, 4);
    assert_int_equal(ends, 1);
}

static void where_nobody_is_far_nobody_is_asked(void **state)
{
    static const int together[RANKS];
    (void)state;
    run(together, 0, is_not_nearer);
    assert_int_equal(pings + ends + echoes, 0);
}

static void trials_of_castoff_are_not_measured(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_FAULT", "drop=0.01");
    run(two_each, 0, is_not_nearer);
    engine_job_set("CASTOFF_FAULT", NULL);
    assert_int_equal(pings + ends + echoes, 0);
    engine_job_set("CASTOFF_NODE_RANKS", "2");
    run(two_each, 0, is_not_nearer);
    engine_job_set("CASTOFF_NODE_RANKS", NULL);
    assert_int_equal(pings + ends + echoes, 0);
}

static int set_up(void **state)
{
    engine_job_ping = ping;
    engine_job_echo = echo;
    return engine_job_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_answers_at_once_is_nearer),
        cmocka_unit_test(one_as_slow_as_any_patience_is_not),
        cmocka_unit_test(where_nobody_is_far_nobody_is_asked),
        cmocka_unit_test(trials_of_castoff_are_not_measured),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
