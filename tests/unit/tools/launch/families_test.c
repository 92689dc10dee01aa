// SPDX-License-Identifier: BSD-3-Clause
//
// Families of MPI libraries, by what they say of themselves.
#include "tools/launch/families.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void families_are_told(void **state)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "Open MPI 4.1"},
        {"Open MPI v5.0.7, package: Debian OpenMPI, ident: 5.0.7", "Open MPI 5.0"},
        {"Open MPI v4.0.7, package: Open MPI", "Open MPI"},
        {"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "MPICH 4"},
        {"MPICH Version:      4.2.1\nMPICH Release date: Wed Apr 17 15:30:02 CDT 2024\n", "MPICH 4"},
        {"MPICH Version:\t3.4.3\n", "MPICH"},
        {"Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel MPI"},
        {"MVAPICH Version:\t3.0\n", "MVAPICH"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct co_family *family = co_family_of(cases[i].text);
        assert_non_null(family);
        assert_string_equal(family->name, cases[i].name);
    }
    assert_null(co_family_of("Some MPI 1.0"));
    assert_null(co_family_of(""));
}

static void those_that_are_served_are_named(void **state)
{
    char text[64], small[8];
    (void)state;
    co_families_served(text, sizeof text);
    assert_true(strncmp(text, "Open MPI 4.1", 12) == 0);
    assert_null(strstr(text, "MVAPICH"));
    co_families_served(small, sizeof small);
    assert_true(strlen(small) < sizeof small);
}

static void a_program_of_no_mpich_is_told(void **state)
{
    (void)state;
    assert_false(co_family_links_mpich("/proc/self/exe"));
    assert_false(co_family_links_mpich("/nonexistent"));
    assert_false(co_family_links_mpich("/dev/null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_are_told),
        cmocka_unit_test(those_that_are_served_are_named),
        cmocka_unit_test(a_program_of_no_mpich_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
