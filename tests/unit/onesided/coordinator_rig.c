// SPDX-License-Identifier: BSD-3-Clause
//
// A coordinator whose clients are this test.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator_rig.h"

enum { HEARD_MAX = 64 };

// What has been said to a client and not been looked at.
static struct said heard[CLIENTS][HEARD_MAX];
static unsigned heard_count[CLIENTS], heard_at[CLIENTS];
bool rig_dropped[CLIENTS];
char rig_log[512], rig_status[4 * CO_COORDINATION_STATUS_MAX];
struct co_coordinator *rig_coordinator;
struct co_coordination_message rig_message;
uint64_t rig_now;

static void keep(struct said *said, const struct co_coordination_message *what)
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
        strncat(rig_status, what->status.text, what->status.bytes);
        break;
    default:
        break;
    }
}

static void said_to(void *context, unsigned client, struct co_coordination_message *what)
{
    static uint8_t body[CO_COORDINATION_BODY_MAX];
    (void)context;
    co_coordination_write(body, what); // all that it says can be said
    assert_true(heard_count[client] < HEARD_MAX);
    keep(&heard[client][heard_count[client]++], what);
}

static void was_dropped(void *context, unsigned client)
{
    (void)context;
    rig_dropped[client] = true;
}

static void logged(void *context, const char *line)
{
    (void)context;
    snprintf(rig_log, sizeof rig_log, "%s", line);
}

// The next word for a client, which must be of this kind.
struct said *rig_hears(unsigned client, uint16_t kind)
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

void rig_hears_nothing(unsigned client)
{
    assert_int_equal(heard_at[client], heard_count[client]);
}

void rig_say(unsigned client, uint16_t kind)
{
    rig_message.kind = kind;
    co_coordinator_heard(rig_coordinator, client, &rig_message, rig_now);
}

void coordinator_rig_join(unsigned client)
{
    heard_at[client] = heard_count[client] = 0;
    rig_dropped[client] = false;
    co_coordinator_joined(rig_coordinator, client, "10.0.0.9:5", rig_now);
    rig_hears(client, CO_SAY_WELCOME);
}

void rig_log_in(unsigned client, uint8_t role, const char *name)
{
    coordinator_rig_join(client);
    rig_message.login = (struct co_coordination_login){.role = role, .rules = 16, .actions = 64};
    snprintf(rig_message.login.name, sizeof rig_message.login.name, "%s", name);
    rig_say(client, CO_SAY_LOGIN);
}

void rig_answer(uint32_t request, uint16_t kind, const char *text)
{
    rig_message.answer =
        (struct co_coordination_answer){.request = request, .reason = kind == CO_SAY_REFUSED ? CO_REASON_FULL : 0};
    snprintf(rig_message.answer.text, sizeof rig_message.answer.text, "%s", text);
    rig_say(HOP, kind);
}

void rig_open_as(unsigned client, uint16_t kind, uint64_t bytes)
{
    rig_message.open = (struct co_coordination_open){.bytes = bytes,
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
    snprintf(rig_message.open.name, sizeof rig_message.open.name, "h%u", client);
    rig_say(client, kind);
}

int rig_open(void **state)
{
    (void)state;
    struct co_coordinator_config config = {
        .first_ip = 0xefc10000, .addresses = 65536, .lease_ns = LEASE, .patience_ns = PATIENCE};
    struct co_coordinator_output output = {.say = said_to, .drop = was_dropped, .log = logged};
    rig_now = 1000 * MS;
    assert_int_equal(co_coordinator_open(&rig_coordinator, &config, &output), 0);
    rig_log_in(HOP, CO_ROLE_HOP, "leaf");
    rig_hears(HOP, CO_SAY_DONE);
    for (unsigned i = SENDER; i < CLIENTS; i++) {
        rig_log_in(i, CO_ROLE_CLIENT, "x");
        rig_hears(i, CO_SAY_DONE);
    }
    return 0;
}

int rig_close(void **state)
{
    (void)state;
    co_coordinator_close(rig_coordinator);
    return 0;
}

// Up to the rules; returns the hop's request.
uint32_t coordinator_rig_set_up(void)
{
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 5000);
    rig_open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    rig_hears_nothing(M1);
    rig_open_as(M3, CO_SAY_OPEN_MEMBER, 4000);
    for (unsigned i = M1; i <= M3; i++) {
        const struct said *setup = rig_hears(i, CO_SAY_SETUP);
        assert_int_equal(setup->setup.ip, 0x0a000000 + SENDER);
        assert_int_equal(setup->setup.mtu, 1024);
        assert_int_equal(setup->setup.bytes, 4000);
    }
    rig_say(M1, CO_SAY_READY);
    rig_say(M3, CO_SAY_READY);
    rig_hears_nothing(HOP);
    rig_say(M2, CO_SAY_READY);
    const struct said *set = rig_hears(HOP, CO_SAY_RULE_SET);
    assert_int_equal(set->rule.action_count, 3);
    assert_int_equal(set->rule.sender_ip, 0x0a000000 + SENDER);
    assert_int_equal(set->rule.bytes, 4000);
    assert_int_equal(set->targets[1].ip, 0x0a000000 + M2);
    assert_int_equal(set->targets[1].psn_offset, 100 * (M2 - SENDER));
    assert_int_equal(set->targets[1].rkey, 0x100 + M2);
    assert_int_equal(set->targets[1].address, 0x1000 * M2);
    rig_hears_nothing(SENDER);
    return set->request;
}

void rig_open_group(void)
{
    rig_answer(coordinator_rig_set_up(), CO_SAY_DONE, "");
    const struct said *go = rig_hears(SENDER, CO_SAY_GO);
    assert_int_equal(go->setup.members, 3);
    assert_int_equal(go->setup.mtu, 1024);
    assert_in_range(go->setup.ip, 0xefc10000, 0xefc1ffff);
    assert_in_range(go->setup.qpn, 2, 0xfffffe);
}
