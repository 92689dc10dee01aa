// SPDX-License-Identifier: BSD-3-Clause
//
// The lock that nobody waits for, and the publication of plain data by release and acquire; meant for
// ThreadSanitizer as much as for the assertions.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/atomics.h"

enum { THREADS = 3, ROUNDS = 5000 };

static struct co_trylock lock = CO_TRYLOCK_INIT;
static int guarded;

static void only_one_holds_it(void **state)
{
    (void)state;
    assert_true(co_trylock_take(&lock));
    assert_false(co_trylock_take(&lock));
    co_trylock_drop(&lock);
    assert_true(co_trylock_take(&lock));
    co_trylock_drop(&lock);
}

static void *add(void *argument)
{
    int refused = 0;

    for (int done = 0; done < ROUNDS;) {
        if (co_trylock_take(&lock)) {
            guarded++;
            co_trylock_drop(&lock);
            done++;
        } else {
            refused++;
            sched_yield();
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        co_trylock_wait(&lock);
        guarded++;
        co_trylock_drop(&lock);
    }
    *(int *)argument = refused;
    return NULL;
}

static void it_guards(void **state)
{
    pthread_t threads[THREADS];
    int refused[THREADS];

    (void)state;
    guarded = 0;
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add, &refused[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(guarded, 2 * THREADS * ROUNDS);
}

static int payload[ROUNDS];
static _Atomic int published;

static void *publish(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        payload[i] = i + 1;
        co_store_release(&published, i + 1); // release P1, read by P1 below
    }
    return argument;
}

static void what_is_released_is_seen(void **state)
{
    pthread_t thread;
    int seen = 0;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, publish, NULL), 0);
    while (seen < ROUNDS) {
        int now = co_load_acquire(&published); // acquire P1
        for (; seen < now; seen++) {
            assert_int_equal(payload[seen], seen + 1);
        }
        sched_yield();
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_holds_it),
        cmocka_unit_test(it_guards),
        cmocka_unit_test(what_is_released_is_seen),
    };

    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
