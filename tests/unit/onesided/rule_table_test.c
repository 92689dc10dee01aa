// SPDX-License-Identifier: BSD-3-Clause
//
// The hop's table: rules by address and QPN, its bounds and what it says of them, leases, a rule that is changed under
// way; and against a naive table, changes at random.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onesided/rule_table.h"

enum { LEASE = 100 };

static struct co_roce_target targets[8];
static char why[160];

static struct co_rule_config config_of(uint64_t id, uint32_t group_ip, uint32_t qpn, uint32_t actions)
{
    return (struct co_rule_config){.id = id,
                                   .group_ip = group_ip,
                                   .sender_ip = 0x0a000001,
                                   .qpn = qpn,
                                   .key = 7,
                                   .bytes = 4096,
                                   .action_count = actions,
                                   .targets = targets};
}

static int install(struct co_rule_table *table, struct co_rule_config config, uint64_t now)
{
    *why = '\0';
    return co_rule_table_install(table, &config, now, LEASE, why, sizeof why);
}

static struct co_rule_table *table_of(unsigned rules, unsigned actions)
{
    struct co_rule_table *table;
    assert_int_equal(co_rule_table_open(&table, rules, actions), 0);
    return table;
}

static int make_targets(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        targets[i] = (struct co_roce_target){.ip = 0x0a000010 + i, .qpn = 100 + i, .rkey = i};
    }
    return 0;
}

static void found_by_address_and_qpn(void **state)
{
    (void)state;
    struct co_rule_table *table = table_of(4, 8);
    assert_null(co_rule_table_find(table, 1, 1));
    assert_int_equal(install(table, config_of(1, 0xef000001, 5, 3), 0), 0);
    assert_int_equal(install(table, config_of(2, 0xef000001, 6, 1), 0), 0);
    assert_int_equal(install(table, config_of(3, 0xef000002, 5, 1), 0), 0);
    assert_int_equal(co_rule_table_find(table, 0xef000001, 5)->config.id, 1);
    assert_int_equal(co_rule_table_find(table, 0xef000001, 6)->config.id, 2);
    assert_int_equal(co_rule_table_find(table, 0xef000002, 5)->config.id, 3);
    assert_null(co_rule_table_find(table, 0xef000002, 6));
    assert_int_equal(co_rule_table_find(table, 0xef000001, 5)->actions[2].target.qpn, 102);
    assert_int_equal(co_rule_table_action_count(table), 5);
    assert_int_equal(co_rule_table_remove(table, 1, NULL), 0);
    assert_null(co_rule_table_find(table, 0xef000001, 5));
    assert_int_equal(co_rule_table_remove(table, 1, NULL), -ENOENT);
    assert_int_equal(co_rule_table_count(table), 2);
    assert_int_equal(co_rule_table_action_count(table), 2);
    co_rule_table_close(table);
}

static void bounds(void **state)
{
    (void)state;
    struct co_rule_table *table;
    assert_int_equal(co_rule_table_open(&table, 0, 1), -EINVAL);
    assert_int_equal(co_rule_table_open(&table, 1, 0), -EINVAL);
    assert_int_equal(co_rule_table_open(&table, CO_RULE_TABLE_RULES_MAX + 1, 1), -EINVAL);
    assert_int_equal(co_rule_table_open(&table, 1, CO_RULE_TABLE_ACTIONS_MAX + 1), -EINVAL);
    table = table_of(2, 4);
    assert_int_equal(install(table, config_of(1, 1, 5, 0), 0), -EINVAL);
    assert_int_equal(install(table, config_of(1, 0, 5, 1), 0), -EINVAL);
    assert_int_equal(install(table, config_of(1, 1, 0, 1), 0), -EINVAL);
    assert_int_equal(install(table, config_of(1, 1, 1 << 24, 1), 0), -EINVAL);
    assert_int_equal(install(table, config_of(1, 1, 5, 5), 0), -ENOSPC);
    assert_string_equal(why, "the table is full: 0 of 2 rules, 0 of 4 actions, and 5 more are asked for");
    assert_int_equal(install(table, config_of(1, 1, 5, 2), 0), 0);
    assert_int_equal(install(table, config_of(2, 1, 5, 1), 0), -EEXIST);
    assert_string_equal(why, "rule 1 has this address and QPN");
    assert_int_equal(install(table, config_of(1, 1, 6, 1), 0), -EINVAL);
    assert_int_equal(install(table, config_of(2, 2, 5, 2), 0), 0);
    assert_int_equal(install(table, config_of(3, 3, 5, 1), 0), -ENOSPC);
    assert_int_equal(install(table, config_of(2, 2, 5, 3), 0), -ENOSPC); // one more than is left
    assert_int_equal(co_rule_table_find(table, 2, 5)->config.action_count, 2);
    assert_int_equal(co_rule_table_remove(table, 1, NULL), 0);
    assert_int_equal(install(table, config_of(2, 2, 5, 4), 0), 0);
    assert_int_equal(co_rule_table_action_count(table), 4);
    co_rule_table_close(table);
}

static void leases(void **state)
{
    (void)state;
    struct co_rule_table *table = table_of(4, 8);
    assert_int_equal(install(table, config_of(1, 1, 5, 1), 0), 0);
    assert_int_equal(install(table, config_of(2, 2, 5, 1), 50), 0);
    assert_int_equal(co_rule_table_expire(table, LEASE - 1), 0);
    assert_int_equal(co_rule_table_expire(table, LEASE), 1);
    assert_null(co_rule_table_find(table, 1, 5));
    assert_non_null(co_rule_table_find(table, 2, 5));
    co_rule_table_renew(table, 140, LEASE);
    assert_int_equal(co_rule_table_expire(table, 239), 0);
    assert_int_equal(co_rule_table_expire(table, 240), 1);
    assert_int_equal(co_rule_table_count(table), 0);
    assert_int_equal(co_rule_table_action_count(table), 0);
    co_rule_table_close(table);
}

// A receiver has left: the others' counters, and the message under way, go on.
static void a_rule_is_changed(void **state)
{
    (void)state;
    struct co_rule_table *table = table_of(4, 8);
    uint64_t counters[CO_RULE_VERDICTS];
    struct co_rule_config config = config_of(9, 1, 5, 3);
    assert_int_equal(install(table, config, 0), 0);
    struct co_rule *rule = co_rule_table_find(table, 1, 5);
    rule->actions[2].packets = 4;
    rule->actions[2].bytes = 400;
    rule->is_in_message = true;
    rule->next_psn = 77;
    co_rule_count(rule, CO_RULE_PASSED);
    struct co_roce_target others[] = {targets[0], targets[2]};
    config.targets = others;
    config.action_count = 2;
    assert_int_equal(install(table, config, 0), 0);
    rule = co_rule_table_find(table, 1, 5);
    assert_int_equal(rule->actions[1].target.qpn, 102);
    assert_int_equal(rule->actions[1].packets, 4);
    assert_int_equal(rule->actions[1].bytes, 400);
    assert_true(rule->is_in_message && rule->next_psn == 77);
    assert_int_equal(co_rule_table_action_count(table), 2);
    assert_int_equal(co_rule_table_remove(table, 9, counters), 0);
    assert_int_equal(counters[CO_RULE_PASSED], 1);
    co_rule_table_close(table);
}

static void at_random(void **state)
{
    (void)state;
    enum { IDS = 24, RULES = 12, ACTIONS = 30 };
    uint32_t actions_of[IDS] = {0}, seed = 20261122;
    struct co_rule_table *table = table_of(RULES, ACTIONS);
    for (int turn = 0; turn < 20000; turn++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t id = (seed >> 8) % IDS, actions = 1 + (seed >> 16) % 4, rules = 0, all = 0;
        for (int i = 0; i < IDS; i++) {
            rules += actions_of[i] > 0;
            all += actions_of[i];
        }
        if (seed >> 31) {
            bool fits = (actions_of[id] > 0 || rules < RULES) && all - actions_of[id] + actions <= ACTIONS;
            assert_int_equal(install(table, config_of(id, 1 + id / 4, 1 + id % 4, actions), 0), fits ? 0 : -ENOSPC);
            actions_of[id] = fits ? actions : actions_of[id];
        } else {
            assert_int_equal(co_rule_table_remove(table, id, NULL), actions_of[id] > 0 ? 0 : -ENOENT);
            actions_of[id] = 0;
        }
        const struct co_rule *rule = co_rule_table_find(table, 1 + id / 4, 1 + id % 4);
        assert_int_equal(rule != NULL ? rule->config.action_count : 0, actions_of[id]);
    }
    co_rule_table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_address_and_qpn), cmocka_unit_test(bounds),    cmocka_unit_test(leases),
        cmocka_unit_test(a_rule_is_changed),        cmocka_unit_test(at_random),
    };
    return cmocka_run_group_tests(tests, make_targets, NULL);
}
