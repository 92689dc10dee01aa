// SPDX-License-Identifier: BSD-3-Clause
//
// Terminal plots: where marks stand, and that nothing leaves the frame; pictures that gnuplot could not write whole.
#define _GNU_SOURCE
#include "tools/output/plot.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

// By a gnuplot that ends well whatever becomes of its output, as gnuplot does.
static void a_picture_without_end_is_none(void **state)
{
    static const struct {
        const char *written;
        int result;
    } pictures[] = {{"", -EIO},
                    {"<svg>cut off here</svg", -EIO},
                    {"<svg>and so on and on</svg>", 0},
                    {"a PNG, and its last part IEND.", 0}};
    char folder[] = "/tmp/castoff-plot.XXXXXX", program[64], path[64], why[128];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/gnuplot", folder);
    snprintf(path, sizeof path, "%s/picture", folder);
    setenv("PATH", folder, 1);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        FILE *script = fopen(program, "w");
        assert_non_null(script);
        fprintf(script, "#!/bin/sh\nwhile read -r line; do :; done\nprintf %%s '%s' >%s\n", pictures[i].written, path);
        assert_int_equal(fclose(script), 0);
        assert_int_equal(chmod(program, 0700), 0);
        FILE *gnuplot = co_plot_svg_open(path, "title", why, sizeof why);
        assert_non_null(gnuplot);
        assert_int_equal(co_plot_close(gnuplot, path), pictures[i].result);
    }
    unlink(program);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strips), cmocka_unit_test(bars),
                                       cmocka_unit_test(uncertain_bars_are_marked),
                                       cmocka_unit_test(a_picture_without_end_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
