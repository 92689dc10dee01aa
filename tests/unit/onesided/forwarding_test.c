// SPDX-License-Identifier: BSD-3-Clause
//
// The switch's addresses: by VLAN, moving, silent, and more of them than there is room for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onesided/forwarding.h"

static void by_address_and_vlan(void **state)
{
    (void)state;
    static const uint8_t a[6] = {2, 0, 0, 0, 0, 1}, b[6] = {2, 0, 0, 0, 0, 2}, group[6] = {3, 0, 0, 0, 0, 1};
    struct co_forwarding *table;
    assert_int_equal(co_forwarding_open(&table), 0);
    co_forwarding_learn(table, a, 0, 3, 10);
    co_forwarding_learn(table, a, 7, 4, 10);
    co_forwarding_learn(table, group, 0, 5, 10);
    assert_int_equal(co_forwarding_find(table, a, 0, 10), 3);
    assert_int_equal(co_forwarding_find(table, a, 7, 10), 4);
    assert_int_equal(co_forwarding_find(table, b, 0, 10), CO_FORWARDING_UNKNOWN);
    assert_int_equal(co_forwarding_find(table, group, 0, 10), CO_FORWARDING_UNKNOWN);
    co_forwarding_learn(table, a, 0, 1, 20);
    assert_int_equal(co_forwarding_find(table, a, 0, 20), 1);
    assert_int_equal(co_forwarding_find(table, a, 7, 10 + CO_FORWARDING_AGE_NS), CO_FORWARDING_UNKNOWN);
    co_forwarding_age(table, 10 + CO_FORWARDING_AGE_NS);
    assert_int_equal(co_forwarding_count(table), 1);
    co_forwarding_close(table);
}

static void learn_number(struct co_forwarding *table, uint32_t number, uint64_t now)
{
    uint8_t mac[6] = {2, 0, (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
    co_forwarding_learn(table, mac, 0, 1, now);
}

static void bounded(void **state)
{
    (void)state;
    struct co_forwarding *table;
    assert_int_equal(co_forwarding_open(&table), 0);
    for (uint32_t i = 0; i < CO_FORWARDING_MAX + 5; i++) {
        learn_number(table, i, 0);
    }
    assert_int_equal(co_forwarding_count(table), CO_FORWARDING_MAX);
    assert_int_equal(co_forwarding_overflows(table), 5);
    co_forwarding_age(table, CO_FORWARDING_AGE_NS);
    assert_int_equal(co_forwarding_count(table), 0);
    learn_number(table, 1, CO_FORWARDING_AGE_NS);
    assert_int_equal(co_forwarding_count(table), 1);
    co_forwarding_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_address_and_vlan), cmocka_unit_test(bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
