// SPDX-License-Identifier: BSD-3-Clause
//
// Lists and ranges of sizes, depths and ranks as users write them, and those that are refused.
#include "tools/bench/bench.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static size_t sizes[BENCH_SIZES_MAX];

static void lists_and_ranges(void **state)
{
    (void)state;
    assert_int_equal(co_bench_sizes_parse("8", sizes, BENCH_SIZES_MAX), 1);
    assert_int_equal(sizes[0], 8);
    assert_int_equal(co_bench_sizes_parse("8,64K,3", sizes, BENCH_SIZES_MAX), 3);
    assert_int_equal(sizes[1], 65536);
    assert_int_equal(co_bench_sizes_parse("8:100", sizes, BENCH_SIZES_MAX), 3); // the end is always there
    assert_int_equal(sizes[1], 32);
    assert_int_equal(sizes[2], 100);
    assert_int_equal(co_bench_sizes_parse("1K:8K:2", sizes, BENCH_SIZES_MAX), 4);
    assert_int_equal(sizes[3], 8192);
    assert_int_equal(co_bench_sizes_parse("1:1,1M:1M", sizes, BENCH_SIZES_MAX), 2);
    assert_int_equal(co_bench_sizes_parse("1G", sizes, BENCH_SIZES_MAX), 1);
}

static void what_is_no_size(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "0",
                                        "x",
                                        "8,",
                                        ",8",
                                        "8:4",
                                        "8:",
                                        "8:16:1",
                                        "-8",
                                        "8 ",
                                        "8KB",
                                        "2G",
                                        "99999999999999999999",
                                        "1:2:3:4",
                                        "8;9",
                                        "8:16:",
                                        "4096G",
                                        " 8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(co_bench_sizes_parse(wrong[i], sizes, BENCH_SIZES_MAX), -EINVAL);
    }
    assert_int_equal(co_bench_sizes_parse("1,2,3", sizes, 2), -EINVAL);
    assert_int_equal(co_bench_sizes_parse("1:1G:2", sizes, 4), -EINVAL);
}

static void depths(void **state)
{
    (void)state;
    assert_int_equal(co_bench_depths_parse("0", sizes, BENCH_SIZES_MAX), 1);
    assert_int_equal(sizes[0], 0);
    assert_int_equal(co_bench_depths_parse("0,16:1K", sizes, BENCH_SIZES_MAX), 5);
    assert_int_equal(sizes[1], 16);
    assert_int_equal(sizes[4], 1024);
    assert_int_equal(co_bench_depths_parse("8,16", sizes, BENCH_SIZES_MAX), 2);
    assert_int_equal(sizes[0], 8);
    static const char *const wrong[] = {"", "0,", "0,0", "00", "0:8", "8,0", "0 ", "-0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(co_bench_depths_parse(wrong[i], sizes, BENCH_SIZES_MAX), -EINVAL);
    }
    assert_int_equal(co_bench_depths_parse("0,1,2", sizes, 2), -EINVAL);
}

static void ranks(void **state)
{
    (void)state;
    int counts[4];
    assert_int_equal(co_bench_ranks_parse("2,4,16", counts, 4), 3);
    assert_int_equal(counts[2], 16);
    static const char *const wrong[] = {"", "0", "2,", "x", "2;3", "-1", "1,2,3,4,5", "99999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(co_bench_ranks_parse(wrong[i], counts, 4), -EINVAL);
    }
}

static void a_command_is_one_line(void **state)
{
    (void)state;
    char *words[] = {"castoff bench", "--lab", "2", "--lab-options", "--queue 5", ""};
    char text[80], cut[10];
    co_bench_command_print(text, sizeof text, 6, words);
    assert_string_equal(text, "castoff bench --lab 2 --lab-options '--queue 5' ''");
    co_bench_command_print(cut, sizeof cut, 6, words);
    assert_string_equal(cut, "castoff b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(what_is_no_size),
        cmocka_unit_test(depths),
        cmocka_unit_test(ranks),
        cmocka_unit_test(a_command_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
