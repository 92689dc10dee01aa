// SPDX-License-Identifier: BSD-3-Clause
//
// Locks and counts of threads that take turns, and of threads that do not. Where they do, the program orders them: here
// by a mutex, and ThreadSanitizer must be content.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/plain_counters.h"

enum { THREADS = 3, ROUNDS = 4000 };

static struct co_trylock lock = CO_TRYLOCK_INIT;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static _Atomic size_t count;
static _Atomic int holders;
static int guarded, ends;

static void check_one_thread(void)
{
    assert_true(co_plain_lock_try(&lock));
    assert_false(co_plain_lock_try(&lock)); // who comes back here through a native call
    co_plain_lock_drop(&lock);
    co_plain_lock_take(&lock);
    assert_false(co_plain_lock_try(&lock));
    co_plain_lock_drop(&lock);
    co_store_relaxed(&holders, 1);
    co_plain_counter_hold(&holders);
    assert_false(co_plain_counter_let_go(&holders));
    assert_true(co_plain_counter_let_go(&holders));
    co_store_relaxed(&count, 0);
    co_plain_counter_add(&count, 2);
    co_plain_counter_add(&count, (size_t)-1);
    assert_int_equal(co_load_relaxed(&count), 1);
}

static void one_thread(void **state)
{
    (void)state;
    co_threads_take_turns = false;
    check_one_thread();
    co_threads_take_turns = true;
    check_one_thread();
}

static void work(void)
{
    co_plain_lock_take(&lock);
    guarded++;
    co_plain_lock_drop(&lock);
    co_plain_counter_add(&count, 3);
    co_plain_counter_hold(&holders);
    co_plain_counter_add(&count, (size_t)-2);
    if (co_plain_counter_let_go(&holders)) {
        ends++;
    }
}

static void *run(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (co_threads_take_turns) {
            pthread_mutex_lock(&turn);
            work();
            pthread_mutex_unlock(&turn);
        } else {
            work();
        }
    }
    return arg;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];
    guarded = ends = 0;
    co_store_relaxed(&count, 0);
    co_store_relaxed(&holders, 1);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(guarded, THREADS * ROUNDS);
    assert_int_equal(co_load_relaxed(&count), THREADS * ROUNDS);
    assert_int_equal(ends, 0);
    assert_true(co_plain_counter_let_go(&holders));
}

static void threads_at_once(void **state)
{
    (void)state;
    co_threads_take_turns = false;
    check_threads();
}

static void threads_in_turn(void **state)
{
    (void)state;
    co_threads_take_turns = true;
    check_threads();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread),
        cmocka_unit_test(threads_at_once),
        cmocka_unit_test(threads_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
