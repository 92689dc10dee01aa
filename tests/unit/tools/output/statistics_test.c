// SPDX-License-Identifier: BSD-3-Clause
//
// Quantiles, the sign test's interval against the known binomial table, and verdicts on made-up pairs.
#include "tools/output/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void quantiles(void **state)
{
    (void)state;
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, hundred[100];
    co_statistics_sort(odd, 3);
    co_statistics_sort(even, 4);
    assert_near(co_statistics_median(odd, 3), 2);
    assert_near(co_statistics_median(even, 4), 2.5);
    for (int i = 0; i < 100; i++) {
        hundred[i] = i + 1;
    }
    assert_near(co_statistics_quantile(hundred, 100, 0.99), 99);
    assert_near(co_statistics_quantile(hundred, 100, 0.01), 1);
    assert_near(co_statistics_quantile(hundred, 100, 1), 100);
    assert_near(co_statistics_quantile(hundred, 10, 0.99), 10);
    assert_near(co_statistics_quantile(hundred, 1, 0.5), 1);
}

// Ranks from tables of the sign test (two-sided, 5 %).
static void interval_ranks_are_those_of_the_sign_test(void **state)
{
    (void)state;
    static const struct {
        size_t count, rank;
    } known[] = {{1, 0}, {5, 0}, {6, 1}, {8, 1}, {9, 2}, {10, 2}, {15, 4}, {20, 6}, {25, 8}, {50, 18}, {100, 40}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(co_statistics_interval_rank(known[i].count), known[i].rank);
    }
    size_t rank = co_statistics_interval_rank(10000);
    assert_true(rank > 4890 && rank < 4910); // 5000 - 1.96 * 50
}

static void ratio_of(struct co_ratio *out, double first, double second, double noise, size_t count)
{
    double a[64], b[64];
    for (size_t i = 0; i < count; i++) {
        // Drift common to both sides, and a wobble of their own.
        double drift = 1 + 0.1 * (double)i;
        a[i] = first * drift * (1 + noise * (double)(i % 3));
        b[i] = second * drift * (1 + noise * (double)(i % 2));
    }
    assert_int_equal(co_statistics_ratio(out, a, b, count), 0);
}

static void verdicts(void **state)
{
    (void)state;
    struct co_ratio ratio;
    char text[40];
    ratio_of(&ratio, 20, 10, 0.02, 20);
    assert_int_equal(ratio.verdict, CO_FASTER);
    assert_true(ratio.low <= ratio.ratio && ratio.ratio <= ratio.high && ratio.low > 1.9 && ratio.high < 2.1);
    co_statistics_ratio_text(&ratio, text, sizeof text);
    assert_non_null(strstr(text, " - "));
    ratio_of(&ratio, 10, 20, 0.02, 20);
    assert_int_equal(ratio.verdict, CO_SLOWER);
    ratio_of(&ratio, 10, 10.01, 0.02, 20);
    assert_int_equal(ratio.verdict, CO_NO_DIFFERENCE);
    co_statistics_ratio_text(&ratio, text, sizeof text);
    assert_non_null(strstr(text, " - ")); // how much is not known shows in the interval only
    ratio_of(&ratio, 10.05, 10, 0, 20);   // certain, but too small to matter
    assert_int_equal(ratio.verdict, CO_NO_DIFFERENCE);
    ratio_of(&ratio, 20, 10, 0, 5);
    assert_int_equal(ratio.verdict, CO_TOO_FEW);
    co_statistics_ratio_text(&ratio, text, sizeof text);
    assert_string_equal(text, "too few pairs");
    assert_near(ratio.ratio, 2);
}

static void drift_cancels(void **state)
{
    (void)state;
    struct co_ratio ratio;
    ratio_of(&ratio, 30, 20, 0, 30);
    assert_near(ratio.low, 1.5);
    assert_near(ratio.high, 1.5);
}

static void geometric_mean(void **state)
{
    (void)state;
    double values[] = {1, 4, 2};
    assert_near(co_statistics_geometric_mean(values, 3), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles),      cmocka_unit_test(interval_ranks_are_those_of_the_sign_test),
        cmocka_unit_test(verdicts),       cmocka_unit_test(drift_cancels),
        cmocka_unit_test(geometric_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
