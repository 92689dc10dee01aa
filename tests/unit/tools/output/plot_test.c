// SPDX-License-Identifier: BSD-3-Clause
//
// Terminal plots: where marks stand, and that nothing leaves the frame.
#define _GNU_SOURCE
#include "tools/output/plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char line[CO_PLOT_WIDTH + 1];

static void strips(void **state)
{
    (void)state;
    const double values[] = {1, 1, 1, 2, 3, 99, -7};
    co_plot_strip(line, values, 7, 1, 3);
    assert_int_equal(strlen(line), CO_PLOT_WIDTH);
    assert_int_equal(line[0], 'o');                 // three, and the one below the frame
    assert_int_equal(line[CO_PLOT_WIDTH / 2], '.'); // 2
    assert_int_equal(line[CO_PLOT_WIDTH - 1], ':'); // 3, and the one above
    co_plot_strip(line, values, 1, 5, 5);           // no width at all
    assert_int_equal(strlen(line), CO_PLOT_WIDTH);
}

static void bars(void **state)
{
    (void)state;
    co_plot_ratio(line, 1, 4);
    assert_int_equal(strcspn(line, "|"), CO_PLOT_WIDTH / 2);
    assert_int_equal(strspn(line, " |"), CO_PLOT_WIDTH);
    co_plot_ratio(line, 2, 4);
    assert_int_equal(strchr(line, '>') - line, CO_PLOT_WIDTH / 2 + 14); // half of 27, rounded
    co_plot_ratio(line, 0.5, 4);
    assert_int_equal(strchr(line, '<') - line, CO_PLOT_WIDTH / 2 - 14);
    co_plot_ratio(line, 1e9, 4);
    assert_int_equal(strlen(line), CO_PLOT_WIDTH);
    assert_int_equal(line[CO_PLOT_WIDTH - 1], '>');
    co_plot_ratio(line, 1e-9, 4);
    assert_int_equal(line[1], '<');
}

// A bar whose interval holds 1 says so, and the head says what the sign means; a head without such bars does not.
static void uncertain_bars_are_marked(void **state)
{
    (void)state;
    const struct co_plot_row rows[] = {{.label = "bcast 8", .ratio = 2}, {"bcast 64", 50, true}};
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    co_plot_ratios_print(stream, rows, 2);
    assert_int_equal(fclose(stream), 0);
    assert_non_null(strstr(text, "50.00 ?\n"));
    assert_non_null(strstr(text, "2.00\n"));
    assert_non_null(strstr(text, "?: not certain)\n"));
    free(text);
    stream = open_memstream(&text, &size);
    assert_non_null(stream);
    co_plot_ratios_print(stream, rows, 1);
    assert_int_equal(fclose(stream), 0);
    assert_null(strchr(text, '?'));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strips), cmocka_unit_test(bars),
                                       cmocka_unit_test(uncertain_bars_are_marked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
