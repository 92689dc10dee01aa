// SPDX-License-Identifier: BSD-3-Clause
//
// Serial arithmetic: a table around the places where numbers wrap, and the laws that callers lean on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/wire/serial.h"

static const struct {
    uint32_t a, b;
    bool before;
} TABLE[] = {
    {0, 0, false},
    {0, 1, true},
    {1, 0, false},
    {0, 0x7fffffff, true},
    {0x7fffffff, 0, false},
    {0xffffffff, 0, true},
    {0, 0xffffffff, false},
    {0xffffff00, 0xff, true},
    {0xff, 0xffffff00, false},
    {0x7fffffff, 0x80000000, true},
    {0x80000000, 0x7fffffff, false},
    {0x80000001, 0, true}, // half the space less one
    {0, 0x80000001, false},
    {0xfffffffe, 0x7ffffffd, true},
};

static void order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(*TABLE); i++) {
        assert_int_equal(co_serial_before(TABLE[i].a, TABLE[i].b), TABLE[i].before);
    }
}

static void least_and_most(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(*TABLE); i++) {
        uint32_t a = TABLE[i].a, b = TABLE[i].b;
        assert_int_equal(co_serial_max(a, b), TABLE[i].before ? b : a);
        assert_int_equal(co_serial_min(a, b), TABLE[i].before || a == b ? a : b);
        assert_int_equal(co_serial_max(a, b), co_serial_max(b, a));
        assert_int_equal(co_serial_min(a, b), co_serial_min(b, a));
    }
}

static void any_shift_keeps_the_order(void **state)
{
    (void)state;
    for (uint32_t shift = 0; shift < 64; shift++) {
        uint32_t by = shift * 0x04000001;
        for (size_t i = 0; i < sizeof(TABLE) / sizeof(*TABLE); i++) {
            assert_int_equal(co_serial_before(TABLE[i].a + by, TABLE[i].b + by), TABLE[i].before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(least_and_most),
        cmocka_unit_test(any_shift_keeps_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
