// SPDX-License-Identifier: BSD-3-Clause
//
// Copies at all places in two pages and of lengths around a piece: all bytes are there, none beside them is touched,
// and those close behind each other are made in pieces.
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory/memory_copy.h"

enum { PAGE = 4096, ROOM = 8 * PAGE };

static void close_behind(void **state)
{
    alignas(PAGE) static char from[2 * PAGE], to[2 * PAGE];
    (void)state;
    for (size_t source = 0; source < PAGE; source += 61) {
        for (size_t ahead = 0; ahead < PAGE; ahead++) {
            size_t place = (source + ahead) % PAGE;
            assert_int_equal(co_memory_copy_is_close_behind(to + place, from + source), ahead >= 1 && ahead < 64);
        }
    }
}

static void check(char *to, const char *from, size_t place, size_t source, size_t bytes)
{
    memset(to, 'x', ROOM);
    co_memory_copy(to + place, from + source, bytes);
    assert_memory_equal(to + place, from + source, bytes);
    for (size_t i = 0; i < ROOM; i++) {
        if (i == place) {
            i += bytes;
        }
        assert_int_equal(to[i], 'x');
    }
}

static void all_bytes_and_no_others(void **state)
{
    static const size_t lengths[] = {0, 1, 2047, 2048, 2049, 4095, 4096, 4097, 6144, 6145, 20000};
    char *from = aligned_alloc(PAGE, ROOM), *to = aligned_alloc(PAGE, ROOM);
    (void)state;
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (char)(i * 7 + i / 256);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t place = 0; place < PAGE; place += place < 70 ? 1 : 371) {
            check(to, from, place, 0, lengths[i]);
            check(to, from, place, 100, lengths[i]);
        }
    }
    free(from);
    free(to);
}

static void nothing_has_no_place(void **state)
{
    (void)state;
    co_memory_copy(NULL, NULL, 0);
}

static void a_processor_stays_as_it_is(void **state)
{
    bool is_slow = co_memory_copy_is_slow_close_behind();
    (void)state;
    for (int turn = 0; turn < 100; turn++) {
        assert_int_equal(co_memory_copy_is_slow_close_behind(), is_slow); // measured once
    }
}

static void few_bytes_are_the_same(void **state)
{
    (void)state;
    unsigned char from[64], to[64];
    for (size_t bytes = 0; bytes <= 40; bytes++) {
        for (size_t at = 0; at < 8; at++) {
            for (size_t i = 0; i < sizeof(from); i++) {
                from[i] = (unsigned char)(i * 7 + bytes);
            }
            memset(to, 0xee, sizeof(to));
            co_memory_copy_few(to + at, bytes > 0 ? from + 2 * at : NULL, bytes);
            for (size_t i = 0; i < sizeof(to); i++) {
                assert_int_equal(to[i], i >= at && i < at + bytes ? from[i + at] : 0xee);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_bytes_are_the_same),     cmocka_unit_test(close_behind),
        cmocka_unit_test(all_bytes_and_no_others),    cmocka_unit_test(nothing_has_no_place),
        cmocka_unit_test(a_processor_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
