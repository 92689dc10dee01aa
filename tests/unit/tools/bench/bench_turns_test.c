// SPDX-License-Identifier: BSD-3-Clause
//
// Calls measured in turn: pairs of one round are compared, within a side and a size, with the first call named; points
// of one call stand together though sizes come one after the other.

#include "tools/bench/bench.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct co_bench_results results;

static int clear(void **state)
{
    (void)state;
    co_bench_results_release(&results);
    return 0;
}

// Eight samples, each twice as long as the one before: only pairs of one round have the ratio that is meant.
static void add(const char *call, size_t bytes, const char *side, const char *job, double ns)
{
    char line[1024];
    int used = snprintf(line, sizeof line, "row %s %zu 1 %s 0 8", call, bytes, side);
    for (int i = 0; i < 8; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, " %.1f", ns * (1 << i));
    }
    assert_int_equal(co_bench_results_take(&results, line, job, 4), 0);
}

static const struct co_bench_turn *find(const char *call, size_t bytes, const char *side)
{
    for (int i = 0; i < results.turn_count; i++) {
        const struct co_bench_turn *turn = &results.turns[i];
        if (turn->bytes == bytes && strcmp(turn->call, call) == 0 && strcmp(turn->side, side) == 0) {
            return turn;
        }
    }
    fail_msg("no %s of %zu bytes on %s", call, bytes, side);
    return NULL;
}

static void pairs_of_one_round_are_compared(void **state)
{
    (void)state;
    static const size_t sizes[] = {8, 64};
    for (size_t i = 0; i < 2; i++) {
        add("allgather", sizes[i], "castoff", "default", 100);
        add("allgather", sizes[i], "stock", "default", 400);
        add("allgatherv", sizes[i], "castoff", "default", i == 0 ? 50 : 125);
        add("allgatherv", sizes[i], "stock", "default", 100);
        add("allgatherv", sizes[i], "castoff", "han", 1); // of another job
    }
    assert_int_equal(co_bench_results_judge(&results, false), 0);
    assert_int_equal(co_bench_turns_judge(&results, "allgather,allgatherv"), 0);
    assert_int_equal(results.turn_count, 4);
    assert_true(fabs(find("allgatherv", 8, "castoff")->ratio.ratio - 2) < 1e-9);
    assert_true(fabs(find("allgatherv", 64, "castoff")->ratio.ratio - 0.8) < 1e-9);
    assert_int_equal(find("allgatherv", 64, "castoff")->ratio.verdict, CO_SLOWER);
    assert_true(fabs(find("allgatherv", 8, "stock")->ratio.ratio - 4) < 1e-9);
    assert_string_equal(find("allgatherv", 8, "stock")->first, "allgather");
}

static void the_first_is_the_one_named_first(void **state)
{
    (void)state;
    add("ibcast", 8, "castoff", "default", 100);
    add("ibcast", 8, "stock", "default", 100);
    add("persistent-bcast", 8, "castoff", "default", 50);
    add("persistent-bcast", 8, "stock", "default", 100);
    assert_int_equal(co_bench_results_judge(&results, false), 0);
    assert_int_equal(co_bench_turns_judge(&results, "persistent-bcast,ibcast"), 0);
    assert_true(fabs(find("ibcast", 8, "castoff")->ratio.ratio - 0.5) < 1e-9);
}

static void points_of_a_call_stand_together(void **state)
{
    (void)state;
    for (size_t bytes = 8; bytes <= 512; bytes *= 8) {
        add("bcast", bytes, "castoff", "default", 100);
        add("ibcast", bytes, "castoff", "default", 100);
    }
    static const char *const calls[] = {"bcast", "bcast", "bcast", "ibcast", "ibcast", "ibcast"};
    assert_int_equal(results.point_count, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(results.points[i].call, calls[i]);
        assert_int_equal(results.points[i].bytes, 8 << 3 * (i % 3));
    }
}

static void a_call_is_found_in_a_list(void **state)
{
    (void)state;
    assert_true(co_bench_calls_have("bcast,allgatherv", "allgatherv"));
    assert_true(co_bench_calls_have("allgatherv,bcast", "allgatherv"));
    assert_false(co_bench_calls_have("iallgatherv,persistent-allgatherv,overlap-iallgatherv,allgather", "allgatherv"));
    assert_false(co_bench_calls_have("", "allgatherv"));
}

static void calls_that_have_no_rounds_are_refused(void **state)
{
    (void)state;
    char why[256];
    assert_int_equal(co_bench_calls_check_turns("ibcast,persistent-bcast", why, sizeof why), 0);
    assert_true(co_bench_calls_check_turns("bcast", why, sizeof why) < 0);
    assert_true(co_bench_calls_check_turns("bcast,istart", why, sizeof why) < 0);
    assert_non_null(strstr(why, "'istart'"));
    assert_true(co_bench_calls_check_turns("latency,rate", why, sizeof why) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(pairs_of_one_round_are_compared, clear),
        cmocka_unit_test_teardown(the_first_is_the_one_named_first, clear),
        cmocka_unit_test_teardown(points_of_a_call_stand_together, clear),
        cmocka_unit_test_teardown(a_call_is_found_in_a_list, clear),
        cmocka_unit_test_teardown(calls_that_have_no_rounds_are_refused, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
