// SPDX-License-Identifier: BSD-3-Clause
//
// A wait in vain of a rank that shares its core: where ranks have sessions of their own it leaves the core by sleeping
// for a moment, for no yield is taken; else it yields. Sleeps and yields are counted, and what the kernel says of
// yields is the test's.
#define _GNU_SOURCE // RUSAGE_THREAD
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "engine_inside.h"
#include "engine_job.h"

enum { TURNS = 200 };

static _Thread_local int sleeps;

// Ours stand before the C library's.
int nanosleep(const struct timespec *time, struct timespec *left)
{
    sleeps++;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    (void)who;
    memset(usage, 0, sizeof *usage); // nobody has taken a core
    return 0;
}

static bool is_crowded, has_sessions;

static void wait_in_vain(struct job_rank *rank)
{
    struct co_wait wait = {.call = "test", .inline_op = NULL};
    job_require(rank->open_status == 0, rank->why);
    if (is_crowded) {
        inside_crowd(rank->engine);
    }
    if (has_sessions) {
        inside_part(rank->engine);
    }
    sleeps = 0;
    for (int i = 0; i < TURNS; i++) { // an event before each: however slow it is here, none has waited for long
        inside_add_event(rank->engine);
        co_engine_wait_turn(rank->engine, &wait);
        co_engine_wait_turn(rank->engine, &wait);
    }
    bool sleeps_often = sleeps > TURNS / 4;
    job_require(sleeps_often == (is_crowded && has_sessions), "it sleeps, or does not");
    engine_job_barrier(rank);
}

static void a_core_is_left_to_another_session(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "caller");
    engine_job_set("CASTOFF_SPIN", "0");
    for (int both = 0; both < 4; both++) {
        is_crowded = both & 1;
        has_sessions = both & 2;
        engine_job_run(2, (const int[]){0, 0}, wait_in_vain);
    }
    engine_job_set("CASTOFF_SPIN", NULL);
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_core_is_left_to_another_session)};
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
