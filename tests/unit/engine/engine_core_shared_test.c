// SPDX-License-Identifier: BSD-3-Clause
//
// A wait spins before it leaves the core, where there is a core for each rank. But not while yields say that somebody
// who waits as it does has the same core: taken, and soon given back. How long yields take is the test's clock.
#define _GNU_SOURCE // syscall
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine_inside.h"
#include "engine_job.h"

enum { SPIN = 2000 };

static _Thread_local uint64_t clock_ns, yield_takes_ns;
static _Thread_local bool is_counted;
static _Thread_local int yields;

// Ours stand before the C library's.
int sched_yield(void)
{
    yields++;
    clock_ns += yield_takes_ns;
    return is_counted ? 0 : (int)syscall(SYS_sched_yield);
}

int clock_gettime(clockid_t which, struct timespec *now)
{
    if (!is_counted) {
        return (int)syscall(SYS_clock_gettime, which, now);
    }
    now->tv_sec = (time_t)(clock_ns / CO_NS_PER_S);
    now->tv_nsec = (long)(clock_ns % CO_NS_PER_S);
    return 0;
}

// Of a wait for a message whose only event was before it.
static int turns_until_yield(struct co_engine *engine)
{
    struct co_wait wait = {.call = "test", .for_message = true};
    int turns = 0;
    for (yields = 0; yields == 0 && turns < 10 * SPIN; turns++) {
        co_engine_wait_turn(engine, &wait);
    }
    return turns;
}

struct yield_case {
    uint64_t takes_ns;
    bool is_shared;
};

enum { CASES = 5 };

static const struct yield_case quick[CASES] = {
    {300, false}, {4000, true}, {300, false}, {3 * CO_NS_PER_MS, false}, {100000, true}};
// Of a kernel whose calls take long.
static const struct yield_case slow[CASES] = {
    {3000, false}, {4000, false}, {3000, false}, {20000, true}, {5000, false}};
static const struct yield_case *cases;
static _Atomic int looked_at;
static _Atomic bool has_cores; // else it never spins

static void wait_often(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    if (rank->rank == 0 && !inside_is_oversubscribed(rank->engine)) {
        has_cores = true;
        clock_ns = co_clock_now_ns();
        is_counted = true;
        for (size_t i = 0; i < CASES; i++) {
            yield_takes_ns = cases[i].takes_ns;
            turns_until_yield(rank->engine); // finds out
            int turns = turns_until_yield(rank->engine);
            job_require(cases[i].is_shared ? turns < 100 : turns > SPIN, "turns before it yields");
            job_require(turns < 10 * SPIN, "it never yields");
            looked_at++;
        }
        is_counted = false;
    }
    engine_job_barrier(rank);
}

static void no_spin_keeps_the_core_from_who_waits_too(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "caller");
    engine_job_set("CASTOFF_SPIN", "2000");
    cases = quick;
    engine_job_run(2, (const int[]){0, 0}, wait_often);
    cases = slow;
    engine_job_run(2, (const int[]){0, 0}, wait_often);
    assert_int_equal(looked_at, has_cores ? 2 * CASES : 0);
    engine_job_set("CASTOFF_SPIN", NULL);
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_spin_keeps_the_core_from_who_waits_too)};
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
