// SPDX-License-Identifier: BSD-3-Clause
//
// The coordinator without sockets: a group's life with the order in which everybody is told; whoever closes is answered
// only when the rules are known to be gone, by the hop's word or by the end of its lease; hops of both modes; status.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator_rig.h"

static void a_life(void **state)
{
    (void)state;
    rig_open_group();
    rig_message.round = (struct co_coordination_round){.round = 1, .chunk_bytes = 1024, .chunks = 4};
    rig_say(SENDER, CO_SAY_ROUND);
    rig_hears(M1, CO_SAY_ROUND);
    rig_hears(M3, CO_SAY_ROUND);
    rig_message.missing = (struct co_coordination_missing){.name = "liar", .round = 1, .missing = 2};
    rig_say(M2, CO_SAY_MISSING);
    assert_string_equal(rig_hears(SENDER, CO_SAY_MISSING)->text, "h3"); // M2, by its own name
    rig_say(SENDER, CO_SAY_CLOSE);
    rig_hears_nothing(SENDER);
    rig_hears(M2, CO_SAY_ROUND);
    rig_hears_nothing(M1);
    rig_answer(rig_hears(HOP, CO_SAY_RULE_REMOVE)->request, CO_SAY_DONE, "");
    rig_hears(SENDER, CO_SAY_DONE);
    for (unsigned i = M1; i <= M3; i++) {
        assert_int_equal(rig_hears(i, CO_SAY_ENDED)->reason, CO_REASON_NONE);
        rig_say(i, CO_SAY_CLOSE);
        rig_hears(i, CO_SAY_DONE);
    }
    assert_int_equal(co_coordinator_groups(rig_coordinator), 0);
    rig_open_group(); // under the same name, by the same connections
}

static void who_does_not_log_in(void **state)
{
    (void)state;
    co_coordinator_left(rig_coordinator, OTHER, rig_now);
    coordinator_rig_join(OTHER);
    rig_now += PATIENCE - 1;
    co_coordinator_tick(rig_coordinator, rig_now);
    assert_false(rig_dropped[OTHER]);
    rig_now++;
    co_coordinator_tick(rig_coordinator, rig_now);
    assert_true(rig_dropped[OTHER]);
    assert_non_null(strstr(rig_log, "has not logged in"));
}

// Lines of so many who come without the secret, as many as there are in the log.
static unsigned logged(unsigned strangers)
{
    unsigned lines = 0;
    for (unsigned i = 0; i < strangers; i++) {
        *rig_log = '\0';
        co_coordinator_stranger_log(rig_coordinator, "10.0.0.9:4", "says nonsense", rig_now);
        lines += strcmp(rig_log, "10.0.0.9:4: says nonsense") == 0;
    }
    return lines;
}

static void strangers_do_not_fill_the_log(void **state)
{
    (void)state;
    assert_int_equal(logged(3), 3);
    assert_int_equal(logged(100000), 7);
    co_coordinator_tick(rig_coordinator, rig_now);
    assert_string_equal(rig_log, "");
    rig_now += 1000 * MS;
    co_coordinator_tick(rig_coordinator, rig_now);
    assert_string_equal(rig_log, "and 99993 more who have not shown the secret");
    assert_int_equal(logged(5), 5);
    rig_now += 1000 * MS;
    co_coordinator_tick(rig_coordinator, rig_now);
    assert_string_equal(rig_log, "10.0.0.9:4: says nonsense");
}

// Rounds are the sender's, what is missing the members', and both for their own group.
static void words_of_whom_they_are_not(void **state)
{
    (void)state;
    rig_open_group();
    rig_message.round = (struct co_coordination_round){.round = 1, .chunk_bytes = 1024, .chunks = 4};
    rig_say(M1, CO_SAY_ROUND);
    rig_say(OTHER, CO_SAY_ROUND);
    rig_message.missing = (struct co_coordination_missing){.name = "h3", .round = 1};
    rig_say(SENDER, CO_SAY_MISSING);
    rig_say(OTHER, CO_SAY_MISSING);
    for (unsigned i = SENDER; i < CLIENTS; i++) {
        rig_hears_nothing(i);
    }
}

static void a_member_leaves(void **state)
{
    (void)state;
    rig_open_group();
    rig_say(M2, CO_SAY_CLOSE);
    assert_string_equal(rig_hears(SENDER, CO_SAY_MEMBER_LOST)->text, "h3");
    const struct said *set = rig_hears(HOP, CO_SAY_RULE_SET);
    assert_int_equal(set->rule.action_count, 2);
    assert_int_equal(set->targets[1].ip, 0x0a000000 + M3);
    rig_hears_nothing(M2); // as long as the rule may lead to it
    rig_answer(set->request + 1, CO_SAY_DONE, "");
    rig_hears_nothing(M2);
    rig_answer(set->request, CO_SAY_DONE, "");
    rig_hears(M2, CO_SAY_DONE);
    co_coordinator_left(rig_coordinator, M1, rig_now); // and one that dies
    assert_string_equal(rig_hears(SENDER, CO_SAY_MEMBER_LOST)->text, "h2");
    rig_answer(rig_hears(HOP, CO_SAY_RULE_SET)->request, CO_SAY_DONE, "");
    rig_say(M3, CO_SAY_CLOSE);
    rig_hears(SENDER, CO_SAY_MEMBER_LOST);
    rig_answer(rig_hears(HOP, CO_SAY_RULE_REMOVE)->request, CO_SAY_DONE, "");
    rig_hears(M3, CO_SAY_DONE);
    rig_say(SENDER, CO_SAY_CLOSE);
    rig_hears(SENDER, CO_SAY_DONE);
    rig_hears_nothing(HOP);
    assert_int_equal(co_coordinator_groups(rig_coordinator), 0);
}

static void the_sender_dies(void **state)
{
    (void)state;
    rig_open_group();
    co_coordinator_left(rig_coordinator, SENDER, rig_now);
    uint32_t request = rig_hears(HOP, CO_SAY_RULE_REMOVE)->request;
    rig_hears_nothing(M1);
    rig_answer(request, CO_SAY_DONE, "");
    assert_string_equal(rig_hears(M1, CO_SAY_ENDED)->text, "the sender has been lost");
    assert_int_equal(co_coordinator_groups(rig_coordinator), 0);
}

// Its rules are over when its lease is, not before.
static void the_hop_is_lost(void **state)
{
    (void)state;
    rig_open_group();
    rig_now += 100 * MS;
    co_coordinator_left(rig_coordinator, HOP, rig_now);
    rig_say(M1, CO_SAY_CLOSE);
    rig_hears(SENDER, CO_SAY_MEMBER_LOST);
    rig_now += LEASE + CO_COORDINATOR_MARGIN_NS - 101 * MS;
    co_coordinator_tick(rig_coordinator, rig_now);
    rig_hears_nothing(M1);
    rig_now += MS; // it was last heard when it took the rule
    co_coordinator_tick(rig_coordinator, rig_now);
    rig_hears(M1, CO_SAY_DONE);
    rig_log_in(HOP, CO_ROLE_HOP, "leaf"); // it comes back and gets what is open
    rig_hears(HOP, CO_SAY_DONE);
    const struct said *set = rig_hears(HOP, CO_SAY_RULE_SET);
    assert_int_equal(set->rule.action_count, 2);
    rig_answer(set->request, CO_SAY_DONE, "");
    rig_hears_nothing(SENDER);
    rig_say(SENDER, CO_SAY_CLOSE);
    co_coordinator_left(rig_coordinator, HOP, rig_now);
    co_coordinator_tick(rig_coordinator, rig_now + LEASE + CO_COORDINATOR_MARGIN_NS - 1);
    rig_hears_nothing(SENDER);
    co_coordinator_tick(rig_coordinator, rig_now + LEASE + CO_COORDINATOR_MARGIN_NS);
    rig_hears(SENDER, CO_SAY_DONE);
}

static void a_silent_hop(void **state)
{
    (void)state;
    rig_message.report = (struct co_coordination_hop_report){.number = 7};
    rig_now += LEASE - MS;
    rig_say(HOP, CO_SAY_HOP_REPORT);
    rig_hears(HOP, CO_SAY_HEARTBEAT);
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    co_coordinator_tick(rig_coordinator, rig_now + LEASE - 1);
    assert_false(rig_dropped[HOP]);
    co_coordinator_tick(rig_coordinator, rig_now + LEASE);
    assert_true(rig_dropped[HOP]);
    rig_hears_nothing(M1);
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    assert_string_equal(rig_hears(SENDER, CO_SAY_REFUSED)->text, "no hop is connected");
    assert_string_equal(rig_hears(M1, CO_SAY_ENDED)->text, "no hop is connected"); // it would wait in vain
    rig_open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    assert_string_equal(rig_hears(M2, CO_SAY_REFUSED)->text, "no hop is connected");
}

// It says that it is there, and not what it was asked.
static void mute_until(uint64_t until)
{
    while (rig_now < until) {
        rig_now += 1000 * MS;
        rig_message.report = (struct co_coordination_hop_report){.number = 7};
        rig_say(HOP, CO_SAY_HOP_REPORT);
        rig_hears(HOP, CO_SAY_HEARTBEAT);
        co_coordinator_tick(rig_coordinator, rig_now);
    }
}

static void a_mute_hop_at_the_beginning(void **state)
{
    (void)state;
    uint64_t began = rig_now;
    coordinator_rig_set_up();
    mute_until(began + PATIENCE - 1000 * MS);
    assert_false(rig_dropped[HOP]);
    mute_until(began + PATIENCE);
    assert_true(rig_dropped[HOP]);
    co_coordinator_tick(rig_coordinator, rig_now + LEASE); // it may have the rule until then
    rig_hears_nothing(SENDER);
    co_coordinator_tick(rig_coordinator, rig_now + LEASE + CO_COORDINATOR_MARGIN_NS);
    assert_string_equal(rig_hears(SENDER, CO_SAY_ENDED)->text, "the hop was lost while it took the rules");
    assert_int_equal(co_coordinator_groups(rig_coordinator), 0);
}

static void a_mute_hop_at_the_end(void **state)
{
    (void)state;
    rig_open_group();
    rig_say(SENDER, CO_SAY_CLOSE);
    rig_hears(HOP, CO_SAY_RULE_REMOVE);
    mute_until(rig_now + PATIENCE);
    assert_true(rig_dropped[HOP]);
    rig_hears_nothing(SENDER);
    co_coordinator_tick(rig_coordinator, rig_now + LEASE + CO_COORDINATOR_MARGIN_NS);
    rig_hears(SENDER, CO_SAY_DONE);
    rig_hears(M1, CO_SAY_ENDED);
    assert_int_equal(co_coordinator_groups(rig_coordinator), 0);
}

static void several_hops(void **state)
{
    (void)state;
    rig_log_in(OTHER, CO_ROLE_HOP, "leaf");
    assert_string_equal(rig_hears(OTHER, CO_SAY_REFUSED)->text, "a hop leaf is connected already, from 10.0.0.9:5");
    rig_log_in(OTHER, CO_ROLE_HOP, "spine");
    rig_hears(OTHER, CO_SAY_REFUSED);
    co_coordinator_left(rig_coordinator, HOP, rig_now);
    for (unsigned i = 0; i < 2; i++) {
        coordinator_rig_join(i == 0 ? HOP : OTHER);
        rig_message.login = (struct co_coordination_login){
            .role = CO_ROLE_HOP, .mode = CO_HOP_NIC, .serves_ip = 0x0a000000 + M1 + i, .rules = 1, .actions = 1};
        snprintf(rig_message.login.name, sizeof rig_message.login.name, "nic%u", i);
        rig_say(i == 0 ? HOP : OTHER, CO_SAY_LOGIN);
        rig_hears(i == 0 ? HOP : OTHER, CO_SAY_DONE);
    }
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    rig_open_as(M3, CO_SAY_OPEN_MEMBER, 4000);
    assert_string_equal(rig_hears(SENDER, CO_SAY_ENDED)->text, "no hop is connected that leads to member h4");
    for (unsigned i = M1; i <= M3; i++) {
        rig_hears(i, CO_SAY_ENDED);
    }
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000); // waits for three
    rig_say(SENDER, CO_SAY_CLOSE);
    rig_hears(SENDER, CO_SAY_DONE);
    rig_hears_nothing(HOP);
    rig_hears_nothing(OTHER);
}

static void its_status(void **state)
{
    (void)state;
    rig_open_group();
    rig_message.report = (struct co_coordination_hop_report){.number = 1, .totals = {.group_packets = 8, .copies = 24}};
    rig_message.report.rule_count = 1;
    rig_message.report.rules[0] = (struct co_coordination_hop_rule){.id = 1, .copies = 24, .packets = {8, 0, 2}};
    rig_say(HOP, CO_SAY_HOP_REPORT);
    rig_log_in(OTHER, CO_ROLE_STATUS, "me");
    rig_hears(OTHER, CO_SAY_DONE);
    *rig_status = '\0';
    rig_say(OTHER, CO_SAY_STATUS);
    rig_hears(OTHER, CO_SAY_STATUS_TEXT);
    assert_non_null(strstr(rig_status, "coordinator version 2 hops 1 groups 1 groups_opened 1 groups_failed 0\n"));
    assert_non_null(
        strstr(rig_status, "hop leaf at 10.0.0.9:5 mode switch rules_max 16 actions_max 64 heard 0.0 s ago\n"));
    assert_non_null(strstr(rig_status, "  group_packets 8 copies 24 "));
    assert_non_null(strstr(rig_status, "  rule 1 group files copies 24 passed 8 damaged 0 foreign 2 opcode 0"));
    assert_non_null(strstr(rig_status, "group files state open address 239.193.0."));
    assert_non_null(
        strstr(rig_status, "  member h3 at 10.0.0.3 qpn 0x000013 buffer 4000 state ready round 0 missing 0\n"));
}

int main(void)
{
#define RUN(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)
    const struct CMUnitTest tests[] = {
        RUN(who_does_not_log_in),
        RUN(strangers_do_not_fill_the_log),
        RUN(words_of_whom_they_are_not),
        RUN(a_life),
        RUN(a_member_leaves),
        RUN(the_sender_dies),
        RUN(the_hop_is_lost),
        RUN(a_silent_hop),
        RUN(several_hops),
        RUN(its_status),
        RUN(a_mute_hop_at_the_beginning),
        RUN(a_mute_hop_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
