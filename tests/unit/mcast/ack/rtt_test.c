// SPDX-License-Identifier: BSD-3-Clause
//
// The round-trip estimate against RFC 6298 worked by hand, its bounds, and its way back from an outlier.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/ack/rtt.h"

static void first_sample(void **state)
{
    (void)state;
    struct co_rtt rtt = {0, 0};
    co_rtt_sample(&rtt, 1000);
    assert_int_equal(rtt.smoothed_ns, 1000);
    assert_int_equal(rtt.deviation_ns, 500);
    assert_int_equal(co_rtt_timeout_ns(&rtt, 1, 1000000), 3000);
}

static void further_samples(void **state)
{
    (void)state;
    struct co_rtt rtt = {.smoothed_ns = 8000, .deviation_ns = 400};
    co_rtt_sample(&rtt, 16000);
    assert_int_equal(rtt.deviation_ns, 300 + 2000);
    assert_int_equal(rtt.smoothed_ns, 7000 + 2000);
    co_rtt_sample(&rtt, 1000); // below the mean counts as a deviation too
    assert_int_equal(rtt.deviation_ns, 2300 - 575 + 2000);
    assert_int_equal(rtt.smoothed_ns, 9000 - 1125 + 125);
}

static void a_sample_of_nothing_is_a_sample(void **state)
{
    (void)state;
    struct co_rtt rtt = {0, 0};
    co_rtt_sample(&rtt, 0);
    assert_int_equal(rtt.smoothed_ns, 1); // 0 would say that there was none
    co_rtt_sample(&rtt, 0);
    assert_true(rtt.smoothed_ns > 0);
}

static void bounds(void **state)
{
    (void)state;
    struct co_rtt rtt = {.smoothed_ns = 100, .deviation_ns = 10};
    assert_int_equal(co_rtt_timeout_ns(&rtt, 500, 1000), 500);
    assert_int_equal(co_rtt_timeout_ns(&rtt, 1, 120), 120);
    assert_int_equal(co_rtt_timeout_ns(&rtt, 1, 1000), 140);
}

static void an_outlier_is_forgotten(void **state)
{
    (void)state;
    struct co_rtt rtt = {0, 0};
    co_rtt_sample(&rtt, 100000);
    co_rtt_sample(&rtt, 200000000);
    for (int i = 0; i < 80; i++) {
        co_rtt_sample(&rtt, 100000);
    }
    assert_in_range(rtt.smoothed_ns, 95000, 110000);
    assert_true(co_rtt_timeout_ns(&rtt, 0, UINT64_MAX) < 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_sample),
        cmocka_unit_test(further_samples),
        cmocka_unit_test(a_sample_of_nothing_is_a_sample),
        cmocka_unit_test(bounds),
        cmocka_unit_test(an_outlier_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
