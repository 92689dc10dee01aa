// SPDX-License-Identifier: BSD-3-Clause
//
// What LD_PRELOAD names, and what only looks like it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
