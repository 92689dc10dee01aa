// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of the benchmark program: reading, damage, the comparison with stock's default and with its best, and where they
// ran.

#include "tools/bench/bench.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct co_bench_results results;

static int clear(void **state)
{
    (void)state;
    co_bench_results_release(&results);
    return 0;
}

// A row with `count` samples around `ns`.
static void add(const char *call, size_t bytes, int ranks, const char *side, const char *job, double ns, int count)
{
    char line[4096];
    int used = snprintf(line, sizeof line, "row %s %zu 1 %s 0 %d", call, bytes, side, count);
    for (int i = 0; i < count; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, " %.1f", ns * (1 + 0.001 * (i % 3)));
    }
    assert_int_equal(co_bench_results_take(&results, line, job, ranks), 0);
}

static void compares_with_the_default(void **state)
{
    (void)state;
    add("bcast", 8, 2, "castoff", "default", 100, 12);
    add("bcast", 8, 2, "stock", "default", 200, 12);
    add("bcast", 8, 2, "bcast-6", "default", 150, 12);
    add("bcast", 64, 2, "castoff", "default", 100, 12); // without partner: dropped
    assert_int_equal(co_bench_results_judge(&results, false), 0);
    assert_int_equal(results.point_count, 1);
    const struct co_bench_point *point = &results.points[0];
    assert_string_equal(point->sides[point->stock].name, "stock");
    assert_true(fabs(point->sides[point->stock].ratio.ratio - 2) < 1e-9);
    assert_int_equal(point->sides[point->stock].ratio.verdict, CO_FASTER);
    assert_true(point->sides[point->castoff].p99_ns > point->sides[point->castoff].p50_ns);
    assert_true(co_bench_results_are_right(&results));
}

static void finds_the_best_within_each_job(void **state)
{
    (void)state;
    add("bcast", 8, 2, "castoff", "default", 100, 24);
    add("bcast", 8, 2, "stock", "default", 200, 24);
    add("bcast", 8, 2, "bcast-6", "default", 150, 24);
    add("bcast", 8, 2, "castoff", "han", 10, 24); // a quiet moment: only its own job counts
    add("bcast", 8, 2, "stock", "han", 30, 24);
    assert_int_equal(co_bench_results_judge(&results, true), 0);
    const struct co_bench_point *point = &results.points[0];
    assert_string_equal(point->sides[point->stock].name, "bcast-6");
    assert_string_equal(point->sides[point->castoff].job, "default");
    assert_true(fabs(point->sides[point->stock].ratio.ratio - 1.5) < 1e-9);
}

static void refuses_damage_and_leaves_other_lines_alone(void **state)
{
    (void)state;
    static const char *const damaged[] = {
        "row ",
        "row bcast 8 1 castoff 0",
        "row bcast 8 1 castoff 0 0",
        "row bcast 8 1 castoff 0 3 1.0 2.0",
        "row bcast 8 1 castoff 0 2 1.0 x",
        "row bcast 8 1 castoff 0 99999999999 1.0",
        "overlap 8 castoff 0 5 1 2 3",
        "row bcast 8 1 stock,1 0 2 1.0 2.0", // would be a column of CSV
        "row bcast 8 1 stock' 0 2 1.0 2.0",  // or the end of gnuplot's title
        "row bc\x1b[2Jast 8 1 stock 0 2 1.0 2.0",
        "overlap 8 \x9b 0 5 1 2 3 4 5",
        "overlap-\x9b 8 castoff 0 5 1 2 3 4 5",
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        assert_int_equal(co_bench_results_take(&results, damaged[i], "default", 2), -EINVAL);
    }
    assert_int_equal(co_bench_results_take(&results, "a line of mpirun", "default", 2), 0);
    assert_int_equal(co_bench_results_take(&results, "", "default", 2), 0);
    assert_int_equal(results.overlap_count, 0);
}

static void wrong_bytes_are_seen(void **state)
{
    (void)state;
    assert_int_equal(co_bench_results_take(&results, "overlap 8 castoff 3 5 1 2 3 4 99.5", "default", 2), 0);
    assert_int_equal(results.overlap_count, 1);
    assert_true(fabs(results.overlaps[0].percent - 99.5) < 1e-9);
    assert_false(co_bench_results_are_right(&results));
}

static void overlap_above_all_is_cut_and_marked(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(co_bench_results_take(&results, "overlap 8 castoff 0 5 1 2 3 4 100.00", "default", 2), 0);
    FILE *stream = open_memstream(&text, &bytes);
    co_bench_table_print(&results, stream);
    fclose(stream);
    assert_false(results.overlaps[0].is_cut);
    assert_null(strchr(text, '*'));
    free(text);
    assert_int_equal(co_bench_results_take(&results, "overlap 64 castoff 0 5 1 2 3 4 108.25", "default", 2), 0);
    assert_int_equal(co_bench_results_take(&results, "overlap 512 castoff 0 5 1 2 3 4 99.50", "default", 2), 0);
    stream = open_memstream(&text, &bytes);
    co_bench_table_print(&results, stream);
    fclose(stream);
    assert_true(results.overlaps[1].is_cut);
    assert_true(fabs(results.overlaps[1].percent - 100) < 1e-9);
    assert_non_null(strstr(text, " 100.0* ok\n"));
    assert_non_null(strstr(text, " 100.0  ok\n"));
    assert_non_null(strstr(text, " 99.5  ok\n"));
    assert_non_null(strstr(text, "\n# *: more than 100 was computed and cut"));
    assert_null(strstr(text, "108"));
    free(text);
}

static void points_know_their_place(void **state)
{
    (void)state;
    static const char *const damaged[] = {"place ", "place 2", "place 0 1", "place 1 0", "place x 2"};
    add("bcast", 1, 2, "castoff", "default", 100, 12); // of a program that does not tell
    assert_int_equal(results.points[0].place.nodes, 0);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        assert_int_equal(co_bench_results_take(&results, damaged[i], "default", 2), -EINVAL);
    }
    assert_int_equal(co_bench_results_take(&results, "place 2 4", "default", 8), 0);
    add("bcast", 8, 8, "castoff", "default", 100, 12);
    results.node_ranks = 8; // as many as a host has, or more, cut nothing
    assert_int_equal(co_bench_results_take(&results, "place 1 8", "default", 8), 0);
    add("bcast", 9, 8, "castoff", "default", 100, 12);
    results.node_ranks = 3;
    assert_int_equal(co_bench_results_take(&results, "place 1 8", "default", 8), 0);
    add("bcast", 10, 8, "castoff", "default", 100, 12);
    static const struct co_bench_place expected[] = {{0, 0}, {2, 4}, {1, 8}, {2, 3}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(results.points[i].place.nodes, expected[i].nodes);
        assert_int_equal(results.points[i].place.ranks_per_node, expected[i].ranks_per_node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(compares_with_the_default, clear),
        cmocka_unit_test_teardown(finds_the_best_within_each_job, clear),
        cmocka_unit_test_teardown(refuses_damage_and_leaves_other_lines_alone, clear),
        cmocka_unit_test_teardown(wrong_bytes_are_seen, clear),
        cmocka_unit_test_teardown(overlap_above_all_is_cut_and_marked, clear),
        cmocka_unit_test_teardown(points_know_their_place, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
