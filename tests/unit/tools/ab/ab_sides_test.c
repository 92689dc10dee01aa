// SPDX-License-Identifier: BSD-3-Clause
//
// The two command lines of castoff ab: the same words on both sides but for the preload, and a --set of the user's that
// comes last and so wins.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/ab/ab.h"

static char *settings[] = {"CASTOFF_BCAST=yes", NULL};

static void make(struct co_ab_sides *sides, int argc, char **argv)
{
    char why[256] = "";
    assert_int_equal(co_ab_sides_make(sides, settings, argc, argv, why, sizeof why), 0);
}

static int find(char **words, const char *word, int from)
{
    int at = from;
    while (words[at] != NULL && strcmp(words[at], word) != 0) {
        at++;
    }
    return words[at] != NULL ? at : -1;
}

static void without_a_launcher_the_whole_line_is_wrapped(void **state)
{
    (void)state;
    char *argv[] = {"./app", "-x", NULL};
    struct co_ab_sides sides;
    make(&sides, 2, argv);
    assert_string_equal(sides.argv[AB_WITHOUT][0], "./app");
    assert_int_equal(find(sides.argv[AB_WITH], "run", 0), 1);
    int at = find(sides.argv[AB_WITH], "./app", 0);
    assert_true(at > find(sides.argv[AB_WITH], "CASTOFF_BCAST=yes", 0));
    assert_string_equal(sides.argv[AB_WITH][at + 1], "-x");
    assert_null(sides.argv[AB_WITH][at + 2]);
    co_ab_sides_release(&sides);
}

static void under_mpirun_the_program_is_wrapped(void **state)
{
    (void)state;
    char *argv[] = {"mpirun", "-n", "2", "./app", "-x", NULL};
    struct co_ab_sides sides;
    make(&sides, 5, argv);
    assert_ptr_equal(sides.argv[AB_WITHOUT], argv);
    assert_string_equal(sides.argv[AB_WITH][0], "mpirun");
    assert_string_equal(sides.argv[AB_WITH][2], "2");
    int run = find(sides.argv[AB_WITH], "run", 3), at = find(sides.argv[AB_WITH], "./app", 3);
    assert_int_equal(run, 4);
    assert_true(at > run);
    assert_string_equal(sides.argv[AB_WITH][at + 1], "-x");
    assert_null(sides.argv[AB_WITH][at + 2]);
    co_ab_sides_release(&sides);
}

static void castoff_run_in_the_line_marks_the_place(void **state)
{
    (void)state;
    char *argv[] = {"srun", "-n", "2", "bin/castoff", "run", "--set", "BCAST=no", "--", "./app", "run", NULL};
    struct co_ab_sides sides;
    static const char *const without[] = {"srun", "-n", "2", "./app", "run"};
    make(&sides, 10, argv);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(sides.argv[AB_WITHOUT][i], without[i]);
    }
    assert_null(sides.argv[AB_WITHOUT][5]);
    assert_string_equal(sides.argv[AB_WITH][3], "bin/castoff");
    int theirs = find(sides.argv[AB_WITH], "BCAST=no", 0), ours = find(sides.argv[AB_WITH], "CASTOFF_BCAST=yes", 0);
    int at = find(sides.argv[AB_WITH], "./app", 0);
    assert_true(theirs > 0 && ours > theirs && at > ours);
    assert_string_equal(sides.argv[AB_WITH][at - 1], "--");
    assert_string_equal(sides.argv[AB_WITH][at + 1], "run");
    co_ab_sides_release(&sides);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_launcher_the_whole_line_is_wrapped),
        cmocka_unit_test(under_mpirun_the_program_is_wrapped),
        cmocka_unit_test(castoff_run_in_the_line_marks_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
