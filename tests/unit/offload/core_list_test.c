// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of cores as users write them.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/core_list.h"

static void lists_are_read(void **state)
{
    (void)state;
    uint8_t cores[CO_OFFLOAD_CORE_BYTES], all[CO_OFFLOAD_CORE_BYTES];

    assert_int_equal(co_offload_cores_parse(cores, "0-3,9,1023"), 0);
    assert_int_equal(cores[0], 0x0f);
    assert_int_equal(cores[1], 0x02);
    assert_int_equal(cores[127], 0x80);
    assert_int_equal(co_offload_cores_parse(cores, "0-1023"), 0);
    memset(all, 0xff, sizeof all);
    assert_memory_equal(cores, all, sizeof all);
}

static void other_texts_change_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",    ",",    "1,",    "-1",   "1-",          "3-1", "a",
                                        "1 2", "1,,2", "1-2-3", "1024", "99999999999", "0x1", "1;2"};
    uint8_t cores[CO_OFFLOAD_CORE_BYTES] = {5};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(co_offload_cores_parse(cores, wrong[i]), -EINVAL);
        assert_int_equal(cores[0], 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(other_texts_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
