// SPDX-License-Identifier: BSD-3-Clause
//
// FNV-1a as its authors publish it, at once and piece by piece.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/fnv.h"

static void it_is_as_published(void **state)
{
    (void)state;
    assert_true(co_fnv_64(CO_FNV_64, "", 0) == CO_FNV_64);
    assert_true(co_fnv_64(CO_FNV_64, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(co_fnv_64(CO_FNV_64, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(co_fnv_32(CO_FNV_32, "a", 1) == UINT32_C(0xe40c292c));
    assert_true(co_fnv_32(CO_FNV_32, "foobar", 6) == UINT32_C(0xbf9cf968));
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    static const char text[] = "what is put in piece by piece";
    uint64_t whole = co_fnv_64(CO_FNV_64, text, sizeof text);
    for (size_t cut = 0; cut <= sizeof text; cut++) {
        uint64_t hash = co_fnv_64(CO_FNV_64, text, cut);
        assert_true(co_fnv_64(hash, text + cut, sizeof text - cut) == whole);
        assert_true(co_fnv_32(co_fnv_32(CO_FNV_32, text, cut), text + cut, sizeof text - cut) ==
                    co_fnv_32(CO_FNV_32, text, sizeof text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_as_published),
        cmocka_unit_test(pieces_make_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
