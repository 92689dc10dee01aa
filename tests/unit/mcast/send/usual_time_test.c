// SPDX-License-Identifier: BSD-3-Clause
//
// The usual time: the median of the latest, whatever the others are, and its bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send/usual_time.h"

static uint64_t limit(const struct co_usual_time *time)
{
    return co_usual_time_limit_ns(time, 0, UINT64_MAX);
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct co_usual_time time = {.count = 0};
    assert_int_equal(co_usual_time_limit_ns(&time, 7, 9), 7);
    co_usual_time_sample(&time, 5);
    assert_int_equal(limit(&time), 10);
    assert_int_equal(co_usual_time_limit_ns(&time, 7, 9), 9);
}

static void half_of_them_took_no_longer(void **state)
{
    (void)state;
    struct co_usual_time time = {.count = 0};
    for (unsigned i = 0; i < 10 * CO_USUAL_TIME_SAMPLES; i++) {
        co_usual_time_sample(&time, i * 7919 % 1009); // in no order, some twice
        uint64_t half_ns = limit(&time) / 2;
        unsigned count = i + 1 < CO_USUAL_TIME_SAMPLES ? i + 1 : CO_USUAL_TIME_SAMPLES, shorter = 0, longer = 0;
        for (unsigned k = 0; k < count; k++) {
            shorter += (i - k) * 7919 % 1009 < half_ns;
            longer += (i - k) * 7919 % 1009 > half_ns;
        }
        assert_true(shorter <= count / 2 && longer <= count / 2);
    }
}

static void a_minority_says_nothing(void **state)
{
    (void)state;
    struct co_usual_time time = {.count = 0};
    for (unsigned i = 0; i < 300; i++) {
        co_usual_time_sample(&time, i % 3 == 2 ? 10 * limit(&time) : 100);
    }
    assert_int_equal(limit(&time), 200);
}

static void a_path_that_has_changed_is_known_after_half_of_them(void **state)
{
    (void)state;
    struct co_usual_time time = {.count = 0};
    for (unsigned i = 0; i < CO_USUAL_TIME_SAMPLES; i++) {
        co_usual_time_sample(&time, 100);
    }
    for (unsigned i = 0; i <= CO_USUAL_TIME_SAMPLES / 2; i++) {
        assert_int_equal(limit(&time), 200);
        co_usual_time_sample(&time, 3000);
    }
    assert_int_equal(limit(&time), 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(half_of_them_took_no_longer),
        cmocka_unit_test(a_minority_says_nothing),
        cmocka_unit_test(a_path_that_has_changed_is_known_after_half_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
