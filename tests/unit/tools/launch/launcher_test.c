// SPDX-License-Identifier: BSD-3-Clause
//
// Where the programs stand in mpirun's command lines, and what is said when they cannot be told.
#include "tools/launch/launcher.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char *const wrapper[] = {"W", "--"};
static char why[256], joined[1024];
static struct co_launcher_plan plan;

// Splits at blanks, plans, and joins the result again.
static int plan_for(const char *line)
{
    static char words[1024];
    char *argv[64];
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    joined[0] = why[0] = '\0';
    int result = co_launcher_plan_make(&plan, argc, argv, wrapper, 2, why, sizeof why);
    for (int i = 0; result == 0 && i < plan.argc; i++) {
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? " " : "", plan.argv[i]);
    }
    if (result == 0) {
        assert_null(plan.argv[plan.argc]);
        co_launcher_plan_release(&plan);
    }
    return result;
}

static void wraps_each_program(void **state)
{
    (void)state;
    static const struct {
        const char *line, *expected;
    } cases[] = {
        {"mpirun ./app", "mpirun W -- ./app"},
        {"mpirun -n 8 ./app -n 3 --host x", "mpirun -n 8 W -- ./app -n 3 --host x"},
        {"mpirun --np 2 --mca btl tcp,self -x FOO=bar -x A app",
         "mpirun --np 2 --mca btl tcp,self -x FOO=bar -x A W -- app"},
        {"mpirun -mca a b --map-by ppr:1:node --oversubscribe app x",
         "mpirun -mca a b --map-by ppr:1:node --oversubscribe W -- app x"},
        {"mpirun -n 1 a 1 : -n 2 b 2 : c", "mpirun -n 1 W -- a 1 : -n 2 W -- b 2 : W -- c"},
        {"mpirun --map-by=slot -n 2 -- ./app", "mpirun --map-by=slot -n 2 W -- ./app"},
        {"mpirun --path /x app", "mpirun --path /x W --path /x -- app"},
        {"mpirun --version", "mpirun --version"},
        {"mpirun --help full", "mpirun --help full"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(plan_for(cases[i].line), 0);
        assert_string_equal(joined, cases[i].expected);
    }
}

static void tells_what_it_found(void **state)
{
    (void)state;
    assert_int_equal(plan_for("mpirun -n 1 a : b"), 0);
    assert_int_equal(plan.program_count, 2);
    assert_string_equal(plan.programs[1], "b");
    assert_false(plan.may_be_elsewhere);
    assert_int_equal(plan_for("mpirun -H h1 a"), 0);
    assert_true(plan.may_be_elsewhere);
    assert_int_equal(plan_for("mpirun -V"), 0);
    assert_true(plan.only_informs);
}

static void says_what_is_missing(void **state)
{
    (void)state;
    static const struct {
        const char *line, *cause;
    } cases[] = {
        {"mpirun", "no program given"},
        {"mpirun -n 4", "no program given"},
        {"mpirun -n 4 a :", "no program given after ':'"},
        {"mpirun : a", "no program given"},
        {"mpirun -n", "lacks its argument"},
        {"mpirun --mca a", "lacks its argument"},
        {"mpirun --frobnicate app", "'--frobnicate' is not known"},
        {"mpirun --app file", "--app"},
        {"mpirun -s app", "-s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(plan_for(cases[i].line), -EINVAL);
        assert_non_null(strstr(why, cases[i].cause));
    }
}

static void knows_mpirun_by_its_names(void **state)
{
    (void)state;
    assert_true(co_launcher_is_mpirun("mpirun"));
    assert_true(co_launcher_is_mpirun("/opt/x/bin/mpiexec"));
    assert_true(co_launcher_is_mpirun("mpirun.openmpi"));
    assert_false(co_launcher_is_mpirun("mpirun.mpich"));
    assert_false(co_launcher_is_mpirun("/mpirun/app"));
    assert_false(co_launcher_is_mpirun("srun"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wraps_each_program),
        cmocka_unit_test(tells_what_it_found),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(knows_mpirun_by_its_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
