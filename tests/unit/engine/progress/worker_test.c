// SPDX-License-Identifier: BSD-3-Clause
//
// One worker thread: one that was stopped is not started again by a word that comes late, a notice is not slept over,
// and it has the cores of the job's start.
#define _GNU_SOURCE // sched_setaffinity
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/progress/worker.h"

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

// Of a thread of nobody's: it sleeps for an hour each time.
static _Atomic unsigned long_turns;

static void sleep_long(struct co_worker *worker)
{
    struct pollfd descriptors[1];
    atomic_fetch_add(&long_turns, 1);
    co_worker_sleep(worker, descriptors, 0, 3600 * CO_NS_PER_S);
}

// A timer that runs is no reason to let a notice wait, unless it is over soon.
static void a_notice_is_not_slept_over(void **state)
{
    (void)state;
    static char nobody;
    struct co_worker worker;
    assert_int_equal(co_worker_open(&worker, (struct co_engine *)(void *)&nobody, sleep_long, 0), 0);
    assert_int_equal(co_worker_start(&worker), 0);
    while (atomic_load(&worker.sleep) != CO_WORKER_SLEEPS) {
        sched_yield();
    }
    unsigned before = atomic_load(&long_turns);
    co_worker_notice(&worker);
    while (atomic_load(&long_turns) == before) {
        sched_yield();
    }
    co_worker_stop(&worker);
    co_worker_close(&worker);
}

static void sleep_long_after_notices(struct co_worker *worker)
{
    atomic_store(&worker->has_notice, false);
    sleep_long(worker);
}

// The program closes what is not its own and opens an eventfd of its own: it is left alone, and the worker hears of a
// notice and of its end all the same, at its next look.
static void who_cannot_be_woken_looks(void **state)
{
    (void)state;
    static char nobody;
    struct co_worker worker;
    uint64_t count = 0;
    assert_int_equal(co_worker_open(&worker, (struct co_engine *)(void *)&nobody, sleep_long_after_notices, 0), 0);
    assert_int_equal(co_worker_start(&worker), 0);
    while (atomic_load(&worker.sleep) != CO_WORKER_SLEEPS) {
        sched_yield();
    }
    int others = eventfd(5, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_int_equal(dup2(others, worker.wake.fd), worker.wake.fd);
    unsigned before = atomic_load(&long_turns);
    co_worker_notice(&worker);
    while (atomic_load(&long_turns) < before + 3) { // the first one still sleeps on what was closed
        sched_yield();
    }
    co_worker_call(&worker);
    co_worker_stop(&worker);
    assert_int_equal(read(others, &count, sizeof count), sizeof count);
    assert_int_equal(count, 5);
    int fd = worker.wake.fd;
    co_worker_close(&worker);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    close(fd);
    close(others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_worker_stays_so),     cmocka_unit_test(a_thread_has_the_cores_of_the_start),
        cmocka_unit_test(who_is_to_stop_does_not_sleep), cmocka_unit_test(a_notice_is_not_slept_over),
        cmocka_unit_test(who_cannot_be_woken_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
