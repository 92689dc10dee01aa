// SPDX-License-Identifier: BSD-3-Clause
//
// The largest group: a sender and 1,024 members, behind one hop in switch mode and behind a hop in NIC mode for each of
// them. Every member gets into exactly one rule, and a group that ends leaves none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onesided/coordinator.h"

enum { MEMBERS = CO_RULE_ACTIONS_MAX, SENDER = MEMBERS, FIRST_HOP = MEMBERS + 1, FIRST_IP = 0x0a000001 };

static struct co_coordinator *coordinator;
static struct co_coordination_message message;
static uint16_t last_kind[CO_COORDINATOR_CLIENTS]; // of what was said to a client,
static uint32_t last_request[CO_COORDINATOR_CLIENTS];
static unsigned times_served[MEMBERS]; // by an action of a rule
static unsigned pages, page_bytes;

static void said_to(void *context, unsigned client, struct co_coordination_message *what)
{
    (void)context;
    last_kind[client] = what->kind;
    if (what->kind == CO_SAY_RULE_SET) {
        last_request[client] = what->rule.request;
        for (uint32_t i = 0; i < what->rule.config.action_count; i++) {
            times_served[what->rule.targets[i].ip - FIRST_IP]++;
        }
    } else if (what->kind == CO_SAY_RULE_REMOVE) {
        last_request[client] = what->removal.request;
    } else if (what->kind == CO_SAY_STATUS_TEXT) {
        pages++;
        page_bytes += what->status.bytes;
    }
}

static void was_dropped(void *context, unsigned client)
{
    (void)context;
    fail_msg("client %u is dropped", client);
}

static void logged(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static int open_coordinator(void **state)
{
    struct co_coordinator_config config = {
        .first_ip = 0xefc10000, .addresses = 256, .lease_ns = 1000000000, .patience_ns = 1000000000};
    struct co_coordinator_output output = {.say = said_to, .drop = was_dropped, .log = logged};
    (void)state;
    memset(last_kind, 0, sizeof last_kind);
    memset(times_served, 0, sizeof times_served);
    pages = page_bytes = 0;
    return co_coordinator_open(&coordinator, &config, &output);
}

static int close_coordinator(void **state)
{
    (void)state;
    co_coordinator_close(coordinator);
    return 0;
}

static void say(unsigned client, uint16_t kind)
{
    message.kind = kind;
    co_coordinator_heard(coordinator, client, &message, 1);
}

static void log_in(unsigned client, struct co_coordination_login login)
{
    message.login = login;
    snprintf(message.login.name, sizeof message.login.name, "c%u", client);
    co_coordinator_joined(coordinator, client, "10.9.9.9:1", 1);
    say(client, CO_SAY_LOGIN);
    assert_int_equal(last_kind[client], CO_SAY_DONE);
}

static void open_end(unsigned client)
{
    log_in(client, (struct co_coordination_login){.role = CO_ROLE_CLIENT});
    message.open = (struct co_coordination_open){.bytes = 4096,
                                                 .group = "all",
                                                 .members = MEMBERS,
                                                 .patience_ms = 2000,
                                                 .end = {.ip = FIRST_IP + client, .mtu = 4096, .qpn = 17 + client}};
    snprintf(message.open.name, sizeof message.open.name, "c%u", client);
    say(client, client == SENDER ? CO_SAY_OPEN_SENDER : CO_SAY_OPEN_MEMBER);
}

static void answer_hops(unsigned hops, uint16_t kind)
{
    for (unsigned i = 0; i < hops; i++) {
        assert_int_equal(last_kind[FIRST_HOP + i], kind);
        message.answer = (struct co_coordination_answer){.request = last_request[FIRST_HOP + i]};
        say(FIRST_HOP + i, CO_SAY_DONE);
    }
}

static void live_behind(unsigned hops)
{
    for (unsigned i = 0; i <= MEMBERS; i++) {
        open_end(i);
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        assert_int_equal(last_kind[i], CO_SAY_SETUP);
        say(i, CO_SAY_READY);
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        assert_int_equal(times_served[i], 1);
    }
    answer_hops(hops, CO_SAY_RULE_SET);
    assert_int_equal(last_kind[SENDER], CO_SAY_GO);
    unsigned watcher = FIRST_HOP + hops;
    log_in(watcher, (struct co_coordination_login){.role = CO_ROLE_STATUS});
    say(watcher, CO_SAY_STATUS);
    assert_true(page_bytes > MEMBERS * 60); // a line for each of them
    say(SENDER, CO_SAY_CLOSE);
    assert_int_equal(last_kind[SENDER], CO_SAY_GO); // not before the rules are gone
    answer_hops(hops, CO_SAY_RULE_REMOVE);
    assert_int_equal(last_kind[SENDER], CO_SAY_DONE);
    for (unsigned i = 0; i < MEMBERS; i++) {
        assert_int_equal(last_kind[i], CO_SAY_ENDED);
    }
    assert_int_equal(co_coordinator_groups(coordinator), 0);
}

static void behind_a_switch(void **state)
{
    (void)state;
    log_in(FIRST_HOP, (struct co_coordination_login){.role = CO_ROLE_HOP, .rules = 1, .actions = MEMBERS});
    live_behind(1);
    open_end(0);
    message.open.members = MEMBERS + 1; // what no rule can hold
    say(SENDER, CO_SAY_OPEN_SENDER);
    assert_int_equal(last_kind[SENDER], CO_SAY_REFUSED);
}

static void behind_devices(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MEMBERS; i++) {
        log_in(FIRST_HOP + i,
               (struct co_coordination_login){
                   .role = CO_ROLE_HOP, .mode = CO_HOP_NIC, .serves_ip = FIRST_IP + i, .rules = 1, .actions = 1});
    }
    live_behind(MEMBERS);
    // And no hop more.
    message.login =
        (struct co_coordination_login){.role = CO_ROLE_HOP, .mode = CO_HOP_NIC, .serves_ip = 1, .name = "one"};
    co_coordinator_joined(coordinator, CO_COORDINATOR_CLIENTS - 1, "10.9.9.9:1", 1);
    say(CO_COORDINATOR_CLIENTS - 1, CO_SAY_LOGIN);
    assert_int_equal(last_kind[CO_COORDINATOR_CLIENTS - 1], CO_SAY_REFUSED);
}

int main(void)
{
#define RUN(name) cmocka_unit_test_setup_teardown(name, open_coordinator, close_coordinator)
    const struct CMUnitTest tests[] = {RUN(behind_a_switch), RUN(behind_devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
