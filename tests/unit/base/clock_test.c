// SPDX-License-Identifier: BSD-3-Clause
//
// The clock does not run backwards, not even between threads, and is never 0.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

static void it_does_not_run_backwards(void **state)
{
    uint64_t last = co_clock_now_ns();

    (void)state;
    assert_true(last > 0);
    for (int i = 0; i < 10000; i++) {
        uint64_t now = co_clock_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void *read_clock(void *argument)
{
    *(uint64_t *)argument = co_clock_now_ns();
    return NULL;
}

static void threads_agree(void **state)
{
    uint64_t before = co_clock_now_ns(), inside = 0;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, read_clock, &inside), 0);
    pthread_join(thread, NULL);
    assert_true(before <= inside && inside <= co_clock_now_ns());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_does_not_run_backwards),
        cmocka_unit_test(threads_agree),
    };

    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
