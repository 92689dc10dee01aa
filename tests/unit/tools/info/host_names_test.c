// SPDX-License-Identifier: BSD-3-Clause
//
// The names that castoff info --check hands to a launcher: each once, and none that it would take for something else.
#include "tools/info/host_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char why[256];

static char **take(const char *first, const char *second)
{
    char *words[] = {(char *)first, (char *)second, NULL};
    return co_host_names_take(words, why, sizeof why);
}

static void each_is_named_once(void **state)
{
    (void)state;
    char **names = take("h0,h1,h0", "h1:2,,node[1-3,7].example.org");
    assert_non_null(names);
    assert_string_equal(names[0], "h0");
    assert_string_equal(names[1], "h1");
    assert_string_equal(names[2], "h1:2");
    assert_string_equal(names[3], "node[1-3,7].example.org");
    assert_null(names[4]);
    co_host_names_free(names);
    names = take(NULL, NULL);
    assert_non_null(names);
    assert_null(names[0]);
    co_host_names_free(names);
}

static void what_is_no_name_is_refused(void **state)
{
    static const char *const odd[] = {"-oProxyCommand=x", "h1 h2", "h0,-x",    "h;true",
                                      "$(true)",          "h\n",   "h\033[2J", "::1"};
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_null(take("h0", odd[i]));
        assert_true(why[0] != '\0');
    }
    assert_null(take("fe80::1", NULL));
    assert_non_null(strstr(why, "IPv6"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_named_once),
        cmocka_unit_test(what_is_no_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
