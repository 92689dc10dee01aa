// SPDX-License-Identifier: BSD-3-Clause
//
// Counters: the table is sound, adding from several threads loses nothing, raising keeps the largest.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"

enum { THREADS = 4, ROUNDS = 20000 };

static void rows_are_sound(void **state)
{
    (void)state;
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        const struct co_counter_row *row = co_counter_row(i);
        // Names become JSON keys that people script against.
        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(row->name));
        assert_true(*row->unit && *row->help);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(row->name, co_counter_row(j)->name);
        }
    }
    assert_string_equal(co_counter_row(CO_COUNT_WAIT_SLEEPS)->name, "wait_sleeps");
}

// What people look at fits a screen, but for what verbs and a coordinator have of their own.
static void some_are_for_users(void **state)
{
    int users = 0;

    (void)state;
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        const struct co_counter_row *row = co_counter_row(i);
        bool is_rare = strncmp(row->name, "verbs", 5) == 0 || strncmp(row->name, "onesided", 8) == 0;
        users += row->tier == CO_COUNTER_USER && !is_rare;
    }
    assert_in_range(users, 25, 35);
}

static void *count(void *argument)
{
    uint64_t base = (uint64_t)(uintptr_t)argument;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        co_counter_add(CO_COUNT_DATA_SENT, 3);
        co_counter_raise(CO_COUNT_STAGING_HIGH, base + i);
    }
    return NULL;
}

static void threads_lose_nothing(void **state)
{
    uint64_t before = co_counter_read(CO_COUNT_DATA_SENT), untouched = co_counter_read(CO_COUNT_DATA_SENT_BYTES);
    pthread_t threads[THREADS];

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count, (void *)(i * 1000)), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT) - before, 3 * THREADS * ROUNDS);
    assert_int_equal(co_counter_read(CO_COUNT_STAGING_HIGH), (THREADS - 1) * 1000 + ROUNDS - 1);
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT_BYTES), untouched);
}

static void raising_never_lowers(void **state)
{
    (void)state;
    co_counter_raise(CO_COUNT_STAGING_HIGH, UINT64_MAX);
    co_counter_raise(CO_COUNT_STAGING_HIGH, 5);
    assert_true(co_counter_read(CO_COUNT_STAGING_HIGH) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(some_are_for_users),
        cmocka_unit_test(threads_lose_nothing),
        cmocka_unit_test(raising_never_lowers),
    };

    return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
