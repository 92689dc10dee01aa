// SPDX-License-Identifier: BSD-3-Clause
//
// Lists and ranges of numbers, and what is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "tools/trace/number_list.h"

static void is(const char *text, const uint32_t *numbers, size_t count)
{
    struct co_number_list list;
    assert_int_equal(co_number_list_parse(&list, text, 4096), 0);
    assert_int_equal(list.count, count);
    assert_memory_equal(list.numbers, numbers, count * sizeof *numbers);
}

static void lists_and_ranges(void **state)
{
    (void)state;
    is("1,16,32", (const uint32_t[]){1, 16, 32}, 3);
    is("32,1,32,16", (const uint32_t[]){1, 16, 32}, 3);
    is("1-9", (const uint32_t[]){1, 2, 4, 8, 9}, 5);
    is("2-10/4,3", (const uint32_t[]){2, 3, 6, 10}, 4);
    is("4096", (const uint32_t[]){4096}, 1);
}

static void what_is_none(void **state)
{
    (void)state;
    struct co_number_list list;
    static const char *const texts[] = {"", ",", "1,", "a", "1-", "3-2", "1;2", "-1", "1-2/", " 1", "1 "};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(co_number_list_parse(&list, texts[i], 4096), -EINVAL);
    }
    assert_int_equal(co_number_list_parse(&list, "0", 4096), -ERANGE);
    assert_int_equal(co_number_list_parse(&list, "4097", 4096), -ERANGE);
    assert_int_equal(co_number_list_parse(&list, "99999999999999999999999", 4096), -ERANGE);
    assert_int_equal(co_number_list_parse(&list, "1-100/1", 4096), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_and_ranges), cmocka_unit_test(what_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
