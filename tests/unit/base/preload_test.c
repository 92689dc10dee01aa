// SPDX-License-Identifier: BSD-3-Clause
//
// What LD_PRELOAD names, and what only looks like it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/preload.h"

static void names(void **state)
{
    (void)state;
    assert_true(co_preload_names("libcastoff.so", "libcastoff.so"));
    assert_true(co_preload_names("/x/libcastoff.so", "libcastoff.so"));
    assert_true(co_preload_names("a.so:/x/libcastoff.so", "libcastoff.so"));
    assert_true(co_preload_names("/x/libcastoff.so /y/b.so", "libcastoff.so"));
    assert_true(co_preload_names("::a.so  : libcastoff.so:", "libcastoff.so"));
    assert_false(co_preload_names("/x/libcastoff.so.bak", "libcastoff.so"));
    assert_false(co_preload_names("/x/libcastoff.so.bak:/x/old-libcastoff.so", "libcastoff.so"));
    assert_false(co_preload_names("/x/libcastoff.so/other.so", "libcastoff.so"));
    assert_false(co_preload_names("/x/libcastoff-record.so", "libcastoff.so"));
    assert_false(co_preload_names("", "libcastoff.so"));
    assert_false(co_preload_names(" : ", "libcastoff.so"));
    assert_false(co_preload_names(NULL, "libcastoff.so"));
}

static void paths(void **state)
{
    (void)state;
    assert_true(co_preload_names("/y/a.so:/x/libcastoff.so", "/x/libcastoff.so"));
    assert_false(co_preload_names("/x/libcastoff.so.bak", "/x/libcastoff.so"));
    assert_false(co_preload_names("/a/x/libcastoff.so", "/x/libcastoff.so"));
    assert_false(co_preload_names("libcastoff.so", "/x/libcastoff.so"));
}

static void check_left(const char *preloads, const char *library, const char *left)
{
    char list[128];
    snprintf(list, sizeof list, "%s", preloads);
    assert_int_equal(co_preload_leave_out(list, library), strcmp(preloads, left) != 0);
    assert_string_equal(list, left);
    assert_false(co_preload_names(list, library));
}

static void left_out(void **state)
{
    (void)state;
    check_left("", "libcastoff.so", "");
    check_left("libcastoff.so", "libcastoff.so", "");
    check_left("/x/libcastoff.so:a.so", "libcastoff.so", "a.so");
    check_left("a.so /x/libcastoff.so: b.so", "libcastoff.so", "a.so b.so");
    check_left("a.so:/x/libcastoff.so", "libcastoff.so", "a.so:");
    check_left("/x/libcastoff.so:/y/libcastoff.so:a.so", "libcastoff.so", "a.so");
    check_left("/x/old-libcastoff.so:/y/libcastoff.so.bak", "libcastoff.so",
               "/x/old-libcastoff.so:/y/libcastoff.so.bak");
    check_left("/x/libcastoff.so:/y/libcastoff.so", "/y/libcastoff.so", "/x/libcastoff.so:");
}

static void valgrind(void **state)
{
    (void)state;
    static const char checked[] = "/v/vgpreload_core-amd64-linux.so:/v/vgpreload_memcheck-amd64-linux.so";
    assert_true(co_preload_has_valgrind(checked, "memcheck") && co_preload_has_valgrind(checked, "core"));
    assert_false(co_preload_has_valgrind(checked, "mem") || co_preload_has_valgrind(checked, "helgrind"));
    assert_false(co_preload_has_valgrind("/v/vgpreload_core-amd64-linux.so:/v/libmemcheck-1.so", "memcheck"));
    assert_false(co_preload_has_valgrind("/v/vgpreload_", "memcheck") || co_preload_has_valgrind("", "core"));
    assert_false(co_preload_has_valgrind(NULL, "core"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(paths), cmocka_unit_test(left_out),
                                       cmocka_unit_test(valgrind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
