// SPDX-License-Identifier: BSD-3-Clause
//
// The coordinator without sockets: a group's life with the order in which everybody is told; every refusal and its
// words; whoever closes is answered only when the rules are known to be gone, by the hop's word or by the end of its
// lease.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/onesided/coordinator.h"

enum { HOP, SENDER, M1, M2, M3, OTHER, CLIENTS, HEARD_MAX = 64 };
#define MS UINT64_C(1000000)
#define LEASE (6000 * MS)
#define PATIENCE (5000 * MS)

// What has been said to a client and not been looked at.
static struct said {
    uint16_t kind;
    uint32_t request;
    uint8_t reason;
    char text[CO_CONTROL_TEXT_MAX];
    struct co_control_setup setup;
    struct co_rule_config rule;
    struct co_roce_target targets[4];
} heard[CLIENTS][HEARD_MAX];
static unsigned heard_count[CLIENTS], heard_at[CLIENTS];
static bool dropped[CLIENTS];
static char last_log[512], status_text[4 * CO_CONTROL_STATUS_MAX];
static struct co_coordinator *coordinator;
static struct co_control_message message;
static uint64_t now;

static void keep(struct said *said, const struct co_control_message *what)
{
    memset(said, 0, sizeof *said);
    said->kind = what->kind;
    switch (what->kind) {
    case CO_SAY_DONE:
    case CO_SAY_REFUSED:
    case CO_SAY_ENDED:
        said->reason = what->answer.reason;
        memcpy(said->text, what->answer.text, sizeof said->text);
        break;
    case CO_SAY_RULE_SET:
        said->request = what->rule.request;
        said->rule = what->rule.config;
        memcpy(said->targets, what->rule.targets, sizeof said->targets);
        break;
    case CO_SAY_RULE_REMOVE:
        said->request = what->removal.request;
        said->rule.id = what->removal.id;
        break;
    case CO_SAY_SETUP:
    case CO_SAY_GO:
        said->setup = what->setup;
        break;
    case CO_SAY_MEMBER_LOST:
        snprintf(said->text, sizeof said->text, "%s", what->name);
        break;
    case CO_SAY_MISSING:
        snprintf(said->text, sizeof said->text, "%s", what->missing.name);
        break;
    case CO_SAY_STATUS_TEXT:
        strncat(status_text, what->status.text, what->status.bytes);
        break;
    default:
        break;
    }
}

static void said_to(void *context, unsigned client, struct co_control_message *what)
{
    static uint8_t body[CO_CONTROL_BODY_MAX];
    (void)context;
    co_control_write(body, what); // all that it says can be said
    assert_true(heard_count[client] < HEARD_MAX);
    keep(&heard[client][heard_count[client]++], what);
}

static void was_dropped(void *context, unsigned client)
{
    (void)context;
    dropped[client] = true;
}

static void logged(void *context, const char *line)
{
    (void)context;
    snprintf(last_log, sizeof last_log, "%s", line);
}

// The next word for a client, which must be of this kind.
static struct said *hears(unsigned client, uint16_t kind)
{
    if (heard_at[client] == heard_count[client]) {
        fail_msg("client %u hears nothing, where %u is wanted", client, kind);
    }
    struct said *said = &heard[client][heard_at[client]++];
    if (said->kind != kind) {
        fail_msg("client %u hears %u (%s), where %u is wanted", client, said->kind, said->text, kind);
    }
    return said;
}

static void hears_nothing(unsigned client)
{
    assert_int_equal(heard_at[client], heard_count[client]);
}

static void say(unsigned client, uint16_t kind)
{
    message.kind = kind;
    co_coordinator_heard(coordinator, client, &message, now);
}

static void join(unsigned client)
{
    heard_at[client] = heard_count[client] = 0;
    dropped[client] = false;
    co_coordinator_joined(coordinator, client, "10.0.0.9:5", now);
    hears(client, CO_SAY_WELCOME);
}

static void log_in(unsigned client, uint8_t role, const char *name)
{
    join(client);
    message.login = (struct co_control_login){.role = role, .rules = 16, .actions = 64};
    snprintf(message.login.name, sizeof message.login.name, "%s", name);
    say(client, CO_SAY_LOGIN);
}

static void answer(uint32_t request, uint16_t kind, const char *text)
{
    message.answer =
        (struct co_control_answer){.request = request, .reason = kind == CO_SAY_REFUSED ? CO_REASON_FULL : 0};
    snprintf(message.answer.text, sizeof message.answer.text, "%s", text);
    say(HOP, kind);
}

static void open_as(unsigned client, uint16_t kind, uint64_t bytes)
{
    message.open = (struct co_control_open){.bytes = bytes,
                                            .group = "files",
                                            .members = 3,
                                            .patience_ms = 2000,
                                            .end = {.mac = {2, 0, 0, 0, 0, (uint8_t)client},
                                                    .ip = 0x0a000000 + client,
                                                    .psn = 100 * client,
                                                    .mtu = client == M2 ? 1024 : 4096,
                                                    .qpn = 0x10 + client,
                                                    .rkey = 0x100 + client,
                                                    .address = 0x1000 * client}};
    snprintf(message.open.name, sizeof message.open.name, "h%u", client);
    say(client, kind);
}

static int open_coordinator(void **state)
{
    (void)state;
    struct co_coordinator_config config = {
        .first_ip = 0xefc10000, .addresses = 65536, .lease_ns = LEASE, .patience_ns = PATIENCE};
    struct co_coordinator_output output = {.say = said_to, .drop = was_dropped, .log = logged};
    now = 1000 * MS;
    assert_int_equal(co_coordinator_open(&coordinator, &config, &output), 0);
    log_in(HOP, CO_ROLE_HOP, "leaf");
    hears(HOP, CO_SAY_DONE);
    for (unsigned i = SENDER; i < CLIENTS; i++) {
        log_in(i, CO_ROLE_CLIENT, "x");
        hears(i, CO_SAY_DONE);
    }
    return 0;
}

static int close_coordinator(void **state)
{
    (void)state;
    co_coordinator_close(coordinator);
    return 0;
}

// Up to the rules; returns the hop's request.
static uint32_t set_up(void)
{
    open_as(M1, CO_SAY_OPEN_MEMBER, 5000);
    open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    hears_nothing(M1);
    open_as(M3, CO_SAY_OPEN_MEMBER, 4000);
    for (unsigned i = M1; i <= M3; i++) {
        const struct said *setup = hears(i, CO_SAY_SETUP);
        assert_int_equal(setup->setup.ip, 0x0a000000 + SENDER);
        assert_int_equal(setup->setup.mtu, 1024);
        assert_int_equal(setup->setup.bytes, 4000);
    }
    say(M1, CO_SAY_READY);
    say(M3, CO_SAY_READY);
    hears_nothing(HOP);
    say(M2, CO_SAY_READY);
    const struct said *set = hears(HOP, CO_SAY_RULE_SET);
    assert_int_equal(set->rule.action_count, 3);
    assert_int_equal(set->rule.sender_ip, 0x0a000000 + SENDER);
    assert_int_equal(set->rule.bytes, 4000);
    assert_int_equal(set->targets[1].ip, 0x0a000000 + M2);
    assert_int_equal(set->targets[1].psn_offset, 100 * (M2 - SENDER));
    assert_int_equal(set->targets[1].rkey, 0x100 + M2);
    assert_int_equal(set->targets[1].address, 0x1000 * M2);
    hears_nothing(SENDER);
    return set->request;
}

static void open_group(void)
{
    answer(set_up(), CO_SAY_DONE, "");
    const struct said *go = hears(SENDER, CO_SAY_GO);
    assert_int_equal(go->setup.members, 3);
    assert_int_equal(go->setup.mtu, 1024);
    assert_in_range(go->setup.ip, 0xefc10000, 0xefc1ffff);
    assert_in_range(go->setup.qpn, 2, 0xfffffe);
}

static void a_life(void **state)
{
    (void)state;
    open_group();
    message.round = (struct co_control_round){.round = 1, .chunk_bytes = 1024, .chunks = 4};
    say(SENDER, CO_SAY_ROUND);
    hears(M1, CO_SAY_ROUND);
    hears(M3, CO_SAY_ROUND);
    message.missing = (struct co_control_missing){.name = "liar", .round = 1, .missing = 2};
    say(M2, CO_SAY_MISSING);
    assert_string_equal(hears(SENDER, CO_SAY_MISSING)->text, "h3"); // M2, by its own name
    say(SENDER, CO_SAY_CLOSE);
    hears_nothing(SENDER);
    hears(M2, CO_SAY_ROUND);
    hears_nothing(M1);
    answer(hears(HOP, CO_SAY_RULE_REMOVE)->request, CO_SAY_DONE, "");
    hears(SENDER, CO_SAY_DONE);
    for (unsigned i = M1; i <= M3; i++) {
        assert_int_equal(hears(i, CO_SAY_ENDED)->reason, CO_REASON_NONE);
        say(i, CO_SAY_CLOSE);
        hears(i, CO_SAY_DONE);
    }
    assert_int_equal(co_coordinator_groups(coordinator), 0);
    open_group(); // under the same name, by the same connections
}

static void a_member_leaves(void **state)
{
    (void)state;
    open_group();
    say(M2, CO_SAY_CLOSE);
    assert_string_equal(hears(SENDER, CO_SAY_MEMBER_LOST)->text, "h3");
    const struct said *set = hears(HOP, CO_SAY_RULE_SET);
    assert_int_equal(set->rule.action_count, 2);
    assert_int_equal(set->targets[1].ip, 0x0a000000 + M3);
    hears_nothing(M2); // as long as the rule may lead to it
    answer(set->request + 1, CO_SAY_DONE, "");
    hears_nothing(M2);
    answer(set->request, CO_SAY_DONE, "");
    hears(M2, CO_SAY_DONE);
    co_coordinator_left(coordinator, M1, now); // and one that dies
    assert_string_equal(hears(SENDER, CO_SAY_MEMBER_LOST)->text, "h2");
    answer(hears(HOP, CO_SAY_RULE_SET)->request, CO_SAY_DONE, "");
    say(M3, CO_SAY_CLOSE);
    hears(SENDER, CO_SAY_MEMBER_LOST);
    answer(hears(HOP, CO_SAY_RULE_REMOVE)->request, CO_SAY_DONE, "");
    hears(M3, CO_SAY_DONE);
    say(SENDER, CO_SAY_CLOSE);
    hears(SENDER, CO_SAY_DONE);
    hears_nothing(HOP);
    assert_int_equal(co_coordinator_groups(coordinator), 0);
}

static void the_sender_dies(void **state)
{
    (void)state;
    open_group();
    co_coordinator_left(coordinator, SENDER, now);
    uint32_t request = hears(HOP, CO_SAY_RULE_REMOVE)->request;
    hears_nothing(M1);
    answer(request, CO_SAY_DONE, "");
    assert_string_equal(hears(M1, CO_SAY_ENDED)->text, "the sender has been lost");
    assert_int_equal(co_coordinator_groups(coordinator), 0);
}

// Its rules are over when its lease is, not before.
static void the_hop_is_lost(void **state)
{
    (void)state;
    open_group();
    now += 100 * MS;
    co_coordinator_left(coordinator, HOP, now);
    say(M1, CO_SAY_CLOSE);
    hears(SENDER, CO_SAY_MEMBER_LOST);
    now += LEASE - 101 * MS;
    co_coordinator_tick(coordinator, now);
    hears_nothing(M1);
    now += MS; // it was last heard when it took the rule
    co_coordinator_tick(coordinator, now);
    hears(M1, CO_SAY_DONE);
    log_in(HOP, CO_ROLE_HOP, "leaf"); // it comes back and gets what is open
    hears(HOP, CO_SAY_DONE);
    const struct said *set = hears(HOP, CO_SAY_RULE_SET);
    assert_int_equal(set->rule.action_count, 2);
    answer(set->request, CO_SAY_DONE, "");
    hears_nothing(SENDER);
    say(SENDER, CO_SAY_CLOSE);
    co_coordinator_left(coordinator, HOP, now);
    co_coordinator_tick(coordinator, now + LEASE - 1);
    hears_nothing(SENDER);
    co_coordinator_tick(coordinator, now + LEASE);
    hears(SENDER, CO_SAY_DONE);
}

static void a_silent_hop(void **state)
{
    (void)state;
    message.report = (struct co_control_hop_report){.number = 7};
    now += LEASE - MS;
    say(HOP, CO_SAY_HOP_REPORT);
    hears(HOP, CO_SAY_HEARTBEAT);
    co_coordinator_tick(coordinator, now + LEASE - 1);
    assert_false(dropped[HOP]);
    co_coordinator_tick(coordinator, now + LEASE);
    assert_true(dropped[HOP]);
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    assert_string_equal(hears(SENDER, CO_SAY_REFUSED)->text, "no hop is connected");
}

static void a_member_that_never_answers(void **state)
{
    (void)state;
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    for (unsigned i = M1; i <= M3; i++) {
        open_as(i, CO_SAY_OPEN_MEMBER, 4000);
    }
    say(M1, CO_SAY_READY);
    co_coordinator_tick(coordinator, now + PATIENCE - 1);
    hears_nothing(SENDER);
    co_coordinator_tick(coordinator, now + PATIENCE);
    const struct said *ended = hears(SENDER, CO_SAY_ENDED);
    assert_int_equal(ended->reason, CO_REASON_DEADLINE);
    assert_string_equal(ended->text, "no answer to set-up within 5 s from h3, h4");
    hears(M1, CO_SAY_SETUP);
    hears(M1, CO_SAY_ENDED);
    say(M2, CO_SAY_READY); // too late
    hears_nothing(HOP);
    assert_int_equal(co_coordinator_groups(coordinator), 0);
}

static void members_that_never_come(void **state)
{
    (void)state;
    open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    co_coordinator_tick(coordinator, now + 2000 * MS);
    assert_string_equal(hears(SENDER, CO_SAY_ENDED)->text, "1 of 3 members have joined in time: h3");
    hears(M2, CO_SAY_ENDED);
}

static void a_member_lost_in_set_up(void **state)
{
    (void)state;
    uint32_t request = set_up();
    co_coordinator_left(coordinator, M3, now);
    uint32_t removal = hears(HOP, CO_SAY_RULE_REMOVE)->request;
    answer(request, CO_SAY_DONE, ""); // overtaken
    hears_nothing(SENDER);
    answer(removal, CO_SAY_DONE, "");
    assert_string_equal(hears(SENDER, CO_SAY_ENDED)->text, "member h4 has been lost");
}

static void a_full_hop(void **state)
{
    (void)state;
    answer(set_up(), CO_SAY_REFUSED, "the table is full");
    answer(hears(HOP, CO_SAY_RULE_REMOVE)->request, CO_SAY_REFUSED, "no such rule");
    const struct said *ended = hears(SENDER, CO_SAY_ENDED);
    assert_int_equal(ended->reason, CO_REASON_FULL);
    assert_string_equal(ended->text, "hop leaf: the table is full");
    hears(M1, CO_SAY_ENDED);
}

static void names_twice(void **state)
{
    (void)state;
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    open_as(OTHER, CO_SAY_OPEN_SENDER, 4000);
    const struct said *refused = hears(OTHER, CO_SAY_REFUSED);
    assert_int_equal(refused->reason, CO_REASON_EXISTS);
    assert_string_equal(refused->text, "group files has a sender already: h1 at 10.0.0.9:5");
    open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    assert_string_equal(hears(M1, CO_SAY_REFUSED)->text, "a connection is for one group");
    message.open.end.qpn = 9;
    snprintf(message.open.name, sizeof message.open.name, "h2");
    say(OTHER, CO_SAY_OPEN_MEMBER);
    assert_string_equal(hears(OTHER, CO_SAY_REFUSED)->text, "group files has a member h2 already");
    assert_string_equal(last_log, "x at 10.0.0.9:5: refused: group files has a member h2 already");
}

static void what_makes_no_sense(void **state)
{
    (void)state;
    open_as(SENDER, CO_SAY_OPEN_SENDER, 0);
    hears(SENDER, CO_SAY_REFUSED);
    open_as(M1, CO_SAY_OPEN_MEMBER, 0);
    hears(M1, CO_SAY_REFUSED);
    open_as(M1, CO_SAY_OPEN_MEMBER, 3999);
    open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    open_as(M3, CO_SAY_OPEN_MEMBER, 4000);
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    assert_string_equal(hears(SENDER, CO_SAY_ENDED)->text,
                        "member h2 has registered 3999 bytes, and 4000 are to be written");
    say(OTHER, CO_SAY_HOP_REPORT);
    assert_string_equal(hears(OTHER, CO_SAY_REFUSED)->text, "a message that nobody expects here");
    for (unsigned i = M1; i <= M3; i++) {
        hears(i, CO_SAY_ENDED);
    }
    open_as(OTHER, CO_SAY_OPEN_MEMBER, 4000);
    for (unsigned i = M1; i <= M3; i++) {
        open_as(i, CO_SAY_OPEN_MEMBER, 4000);
    }
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    assert_string_equal(hears(SENDER, CO_SAY_ENDED)->text, "4 members have joined, and 3 are wanted");
}

static void late_comers(void **state)
{
    (void)state;
    open_group();
    open_as(OTHER, CO_SAY_OPEN_MEMBER, 4000);
    assert_string_equal(hears(OTHER, CO_SAY_REFUSED)->text, "group files is under way and takes no members any more");
    say(SENDER, CO_SAY_CLOSE);
    open_as(OTHER, CO_SAY_OPEN_SENDER, 4000);
    hears(OTHER, CO_SAY_REFUSED);
}

static void several_hops(void **state)
{
    (void)state;
    log_in(OTHER, CO_ROLE_HOP, "leaf");
    assert_string_equal(hears(OTHER, CO_SAY_REFUSED)->text, "a hop leaf is connected already, from 10.0.0.9:5");
    log_in(OTHER, CO_ROLE_HOP, "spine");
    hears(OTHER, CO_SAY_REFUSED);
    co_coordinator_left(coordinator, HOP, now);
    for (unsigned i = 0; i < 2; i++) {
        join(i == 0 ? HOP : OTHER);
        message.login = (struct co_control_login){
            .role = CO_ROLE_HOP, .mode = CO_HOP_NIC, .serves_ip = 0x0a000000 + M1 + i, .rules = 1, .actions = 1};
        snprintf(message.login.name, sizeof message.login.name, "nic%u", i);
        say(i == 0 ? HOP : OTHER, CO_SAY_LOGIN);
        hears(i == 0 ? HOP : OTHER, CO_SAY_DONE);
    }
    open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    open_as(M3, CO_SAY_OPEN_MEMBER, 4000);
    assert_string_equal(hears(SENDER, CO_SAY_ENDED)->text, "no hop is connected that leads to member h4");
    for (unsigned i = M1; i <= M3; i++) {
        hears(i, CO_SAY_ENDED);
    }
    open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    open_as(SENDER, CO_SAY_OPEN_SENDER, 4000); // waits for three
    say(SENDER, CO_SAY_CLOSE);
    hears(SENDER, CO_SAY_DONE);
    hears_nothing(HOP);
    hears_nothing(OTHER);
}

static void who_does_not_log_in(void **state)
{
    (void)state;
    join(OTHER);
    co_coordinator_tick(coordinator, now + PATIENCE - 1);
    assert_false(dropped[OTHER]);
    co_coordinator_tick(coordinator, now + PATIENCE);
    assert_true(dropped[OTHER]);
    join(OTHER);
    say(OTHER, CO_SAY_OPEN_SENDER);
    hears(OTHER, CO_SAY_REFUSED);
}

static void its_status(void **state)
{
    (void)state;
    open_group();
    message.report = (struct co_control_hop_report){.number = 1, .totals = {.group_packets = 8, .copies = 24}};
    message.report.rule_count = 1;
    message.report.rules[0] = (struct co_control_hop_rule){.id = 1, .copies = 24, .packets = {8, 0, 2}};
    say(HOP, CO_SAY_HOP_REPORT);
    log_in(OTHER, CO_ROLE_STATUS, "me");
    hears(OTHER, CO_SAY_DONE);
    *status_text = '\0';
    say(OTHER, CO_SAY_STATUS);
    hears(OTHER, CO_SAY_STATUS_TEXT);
    assert_non_null(strstr(status_text, "coordinator version 1 hops 1 groups 1 groups_opened 1 groups_failed 0\n"));
    assert_non_null(
        strstr(status_text, "hop leaf at 10.0.0.9:5 mode switch rules_max 16 actions_max 64 heard 0.0 s ago\n"));
    assert_non_null(strstr(status_text, "  group_packets 8 copies 24 "));
    assert_non_null(strstr(status_text, "  rule 1 group files copies 24 passed 8 damaged 0 foreign 2 opcode 0"));
    assert_non_null(strstr(status_text, "group files state open address 239.193.0."));
    assert_non_null(
        strstr(status_text, "  member h3 at 10.0.0.3 qpn 0x000013 buffer 4000 state ready round 0 missing 0\n"));
}

int main(void)
{
#define RUN(name) cmocka_unit_test_setup_teardown(name, open_coordinator, close_coordinator)
    const struct CMUnitTest tests[] = {
        RUN(a_life),
        RUN(a_member_leaves),
        RUN(the_sender_dies),
        RUN(the_hop_is_lost),
        RUN(a_silent_hop),
        RUN(a_member_that_never_answers),
        RUN(members_that_never_come),
        RUN(a_member_lost_in_set_up),
        RUN(a_full_hop),
        RUN(names_twice),
        RUN(what_makes_no_sense),
        RUN(late_comers),
        RUN(several_hops),
        RUN(who_does_not_log_in),
        RUN(its_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
