// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors for sleeping callers: each hears every signal while it has its own, whatever the others take; one that
// was given back is silent; who comes when all are taken gets none. And the workers beside them: one that was stopped
// is not started again by a word that comes late.
#define _GNU_SOURCE // sched_setaffinity
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <sched.h>

#include <cmocka.h>

#include "engine/progress/wake_fds.h"
#include "engine/progress/worker.h"

static bool has_rung(struct co_wake_fds *wake_fds, int wake_fd)
{
    struct pollfd descriptor = {.fd = co_wake_fds_descriptor(wake_fds, wake_fd), .events = POLLIN};
    return poll(&descriptor, 1, 0) == 1;
}

static void everybody_hears_a_ring(void **state)
{
    (void)state;
    struct co_wake_fds wake_fds;
    assert_int_equal(co_wake_fds_open(&wake_fds, CO_WAKE_FDS), 0);
    int first = co_wake_fds_take(&wake_fds), second = co_wake_fds_take(&wake_fds);
    assert_int_not_equal(first, second);
    assert_false(has_rung(&wake_fds, first));
    co_wake_fds_signal(&wake_fds);
    assert_true(has_rung(&wake_fds, first));
    co_wake_fds_give(&wake_fds, first, true); // wakes, looks, sleeps again, before the other one has come to run
    first = co_wake_fds_take(&wake_fds);
    assert_false(has_rung(&wake_fds, first));
    assert_true(has_rung(&wake_fds, second));
    co_wake_fds_give(&wake_fds, second, true);
    co_wake_fds_signal(&wake_fds);
    second = co_wake_fds_take(&wake_fds);
    assert_true(has_rung(&wake_fds, first));
    assert_false(has_rung(&wake_fds, second));
    co_wake_fds_close(&wake_fds);
}

static void there_may_be_none_left(void **state)
{
    (void)state;
    struct co_wake_fds wake_fds;
    assert_int_equal(co_wake_fds_open(&wake_fds, CO_WAKE_FDS), 0);
    for (int i = 0; i < CO_WAKE_FDS; i++) {
        assert_true(co_wake_fds_take(&wake_fds) >= 0);
    }
    assert_int_equal(co_wake_fds_take(&wake_fds), -1);
    co_wake_fds_give(&wake_fds, 3, false);
    assert_int_equal(co_wake_fds_take(&wake_fds), 3);
    co_wake_fds_close(&wake_fds);
}

static _Atomic int turns;

// Takes the word that it is to stop for the beginning of a turn, and goes to sleep.
static void turn_that_takes_the_call(struct co_worker *worker)
{
    struct pollfd descriptors[1];
    atomic_fetch_add(&turns, 1);
    while (!co_worker_was_called(worker)) {
        sched_yield();
    }
    co_worker_sleep(worker, descriptors, 0, UINT64_MAX);
}

static void who_is_to_stop_does_not_sleep(void **state)
{
    (void)state;
    struct co_worker worker;
    struct co_engine *engine = (struct co_engine *)&turns; // only carried
    assert_int_equal(co_worker_open(&worker, engine, turn_that_takes_the_call, 0), 0);
    int before = turns;
    assert_int_equal(co_worker_start(&worker), 0);
    while (turns == before) {
        sched_yield();
    }
    co_worker_close(&worker); // the test's time limit tells
}

static void turn(struct co_worker *worker)
{
    struct pollfd descriptors[1];
    atomic_fetch_add(&turns, 1);
    co_worker_was_called(worker);
    co_worker_sleep(worker, descriptors, 0, UINT64_MAX);
}

// At the end the threads stop one after the other, and those that still run call the others.
static void a_stopped_worker_stays_so(void **state)
{
    (void)state;
    struct co_worker worker, never = {0};
    struct co_engine *engine = (struct co_engine *)&turns; // only carried
    assert_int_equal(co_worker_open(&worker, engine, turn, 0), 0);
    assert_int_equal(co_worker_start(&worker), 0);
    co_worker_stop(&worker);
    int before = turns;
    co_worker_call(&worker);
    co_worker_notice(&worker);
    assert_true(co_worker_start(&worker) < 0);
    co_worker_close(&worker);
    assert_int_equal(turns, before);
    co_worker_stop(&never);
    co_worker_close(&never);
}

static cpu_set_t cores_seen;

static void turn_that_tells_its_cores(struct co_worker *worker)
{
    sched_getaffinity(0, sizeof(cores_seen), &cores_seen);
    turn(worker);
}

// A program that binds its threads once MPI runs does not bind ours: the first thread that needs one makes it.
static void a_thread_has_the_cores_of_the_start(void **state)
{
    (void)state;
    struct co_worker worker;
    struct co_engine *engine = (struct co_engine *)&turns; // only carried
    cpu_set_t all, one;
    int core = 0, before = turns;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2) {
        skip();
    }
    while (!CPU_ISSET(core, &all)) {
        core++;
    }
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_int_equal(co_worker_open(&worker, engine, turn_that_tells_its_cores, 0), 0);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    int started = co_worker_start(&worker);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(started, 0);
    while (turns == before) {
        sched_yield();
    }
    co_worker_close(&worker);
    assert_true(CPU_EQUAL(&cores_seen, &all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_hears_a_ring),        cmocka_unit_test(there_may_be_none_left),
        cmocka_unit_test(a_stopped_worker_stays_so),     cmocka_unit_test(a_thread_has_the_cores_of_the_start),
        cmocka_unit_test(who_is_to_stop_does_not_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
