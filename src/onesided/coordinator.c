// SPDX-License-Identifier: BSD-3-Clause
//
// The coordinator's front: clients come, say who they are, are heard, and leave.
#include "onesided/coordinator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onesided/coordinator_state.h"

int co_coordinator_open(struct co_coordinator **out, const struct co_coordinator_config *config,
                        const struct co_coordinator_output *output)
{
    uint64_t lease_ms = config->lease_ns / 1000000;
    if (config->first_ip == 0 || config->addresses == 0 || lease_ms < CO_COORDINATION_LEASE_MS_MIN ||
        lease_ms > CO_COORDINATION_LEASE_MS_MAX || config->patience_ns == 0) {
        return -EINVAL;
    }
    struct co_coordinator *coordinator = calloc(1, sizeof *coordinator);
    if (coordinator == NULL) {
        return -ENOMEM;
    }
    coordinator->config = *config;
    coordinator->output = *output;
    coordinator->next_id = coordinator->next_request = 1;
    *out = coordinator;
    return 0;
}

void co_coordinator_close(struct co_coordinator *coordinator)
{
    if (coordinator == NULL) {
        return;
    }
    for (unsigned i = 0; i < coordinator->group_count; i++) {
        free(coordinator->groups[i]->members);
        free(coordinator->groups[i]);
    }
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        free(coordinator->clients[i].report);
    }
    free(coordinator);
}

void co_coordinator_joined(struct co_coordinator *coordinator, unsigned client, const char *place, uint64_t now_ns)
{
    struct client *who = &coordinator->clients[client];
    free(who->report);
    *who = (struct client){.is_there = true, .since_ns = now_ns, .heard_ns = now_ns};
    snprintf(who->place, sizeof who->place, "%s", place);
    coordinator->message.lease_ms = (uint32_t)(coordinator->config.lease_ns / 1000000);
    co_coordinator_send(coordinator, client, CO_SAY_WELCOME);
}

static void refuse(struct co_coordinator *coordinator, unsigned client, uint8_t reason, const char *text)
{
    co_coordinator_log(coordinator, "%s: refused: %s", coordinator->clients[client].place, text);
    co_coordinator_answer(coordinator, client, CO_SAY_REFUSED, reason, text);
}

static void take_login(struct co_coordinator *coordinator, unsigned client, const struct co_coordination_login *login,
                       uint64_t now_ns)
{
    struct client *who = &coordinator->clients[client];
    who->role = login->role;
    who->hop = *login;
    snprintf(who->name, sizeof who->name, "%s", login->name);
    if (login->role == CO_ROLE_HOP) {
        co_coordinator_hops_login(coordinator, client, now_ns);
    } else {
        co_coordinator_answer(coordinator, client, CO_SAY_DONE, CO_REASON_NONE, "");
    }
}

static void take_report(struct co_coordinator *coordinator, unsigned client,
                        const struct co_coordination_hop_report *report)
{
    struct client *who = &coordinator->clients[client];
    if (who->report == NULL) {
        who->report = malloc(sizeof *who->report);
    }
    if (who->report != NULL) {
        *who->report = *report;
    }
    coordinator->message.number = report->number;
    co_coordinator_send(coordinator, client, CO_SAY_HEARTBEAT);
}

static void take_answer(struct co_coordinator *coordinator, unsigned client,
                        const struct co_coordination_message *message, uint64_t now_ns)
{
    char text[CO_COORDINATION_TEXT_MAX];
    struct group *group = co_coordinator_hops_answered(coordinator, client, message, text);
    if (group != NULL && *text != '\0') {
        co_coordinator_group_end(coordinator, group, message->answer.reason, text, now_ns);
    } else if (group != NULL) {
        co_coordinator_group_settle(coordinator, group, now_ns);
    }
}

// False: no message for a hop to send.
static bool hear_hop(struct co_coordinator *coordinator, unsigned client, struct co_coordination_message *message,
                     uint64_t now_ns)
{
    switch (message->kind) {
    case CO_SAY_HOP_REPORT:
        take_report(coordinator, client, &message->report);
        return true;
    case CO_SAY_DONE:
    case CO_SAY_REFUSED:
        take_answer(coordinator, client, message, now_ns);
        return true;
    default:
        return false;
    }
}

static bool hear_client(struct co_coordinator *coordinator, unsigned client, struct co_coordination_message *message,
                        uint64_t now_ns)
{
    switch (message->kind) {
    case CO_SAY_OPEN_SENDER:
    case CO_SAY_OPEN_MEMBER:
        co_coordinator_group_open(coordinator, client, message, now_ns);
        return true;
    case CO_SAY_READY:
        co_coordinator_group_ready(coordinator, client, now_ns);
        return true;
    case CO_SAY_ROUND:
    case CO_SAY_MISSING:
        co_coordinator_group_pass_on(coordinator, client, message);
        return true;
    case CO_SAY_CLOSE:
        co_coordinator_group_leave(coordinator, client, false, now_ns);
        return true;
    default:
        return false;
    }
}

void co_coordinator_heard(struct co_coordinator *coordinator, unsigned client, struct co_coordination_message *message,
                          uint64_t now_ns)
{
    struct client *who = &coordinator->clients[client];
    bool fits;
    who->heard_ns = now_ns;
    if (who->role == 0) {
        fits = message->kind == CO_SAY_LOGIN;
        if (fits) {
            take_login(coordinator, client, &message->login, now_ns);
        }
    } else if (who->role == CO_ROLE_HOP) {
        fits = hear_hop(coordinator, client, message, now_ns);
    } else if (who->role == CO_ROLE_CLIENT) {
        fits = hear_client(coordinator, client, message, now_ns);
    } else {
        fits = message->kind == CO_SAY_STATUS;
        if (fits) {
            co_coordinator_status(coordinator, client, now_ns);
        }
    }
    if (!fits) {
        refuse(coordinator, client, CO_REASON_WRONG, "a message that nobody expects here");
    }
}

static void lose_hop(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns)
{
    const struct client *hop = &coordinator->clients[client];
    co_coordinator_log(coordinator, "hop %s at %s: lost; its rules end within %.3g s", hop->name, hop->place,
                       (double)coordinator->config.lease_ns / 1e9);
    for (unsigned i = coordinator->group_count; i-- > 0;) { // from the end: a group may go meanwhile
        struct group *group = coordinator->groups[i];
        if (co_coordinator_hops_abort(coordinator, group, client) && group->state == GROUP_INSTALLING) {
            co_coordinator_group_end(coordinator, group, CO_REASON_NO_HOP, "the hop was lost while it took the rules",
                                     now_ns);
        }
    }
}

void co_coordinator_left(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns)
{
    struct client *who = &coordinator->clients[client];
    who->is_there = false;
    if (who->role == CO_ROLE_HOP) {
        lose_hop(coordinator, client, now_ns);
    } else if (who->group != NULL) {
        co_coordinator_group_leave(coordinator, client, true, now_ns);
    }
    who->role = 0;
}

static void drop(struct co_coordinator *coordinator, unsigned client, const char *why, uint64_t now_ns)
{
    const struct client *who = &coordinator->clients[client];
    if (who->role == 0) {
        co_coordinator_stranger_log(coordinator, who->place, why, now_ns);
    } else {
        co_coordinator_log(coordinator, "%s at %s: %s", who->name, who->place, why);
    }
    coordinator->output.drop(coordinator->output.context, client);
    co_coordinator_left(coordinator, client, now_ns);
}

static void check_client(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns)
{
    const struct client *who = &coordinator->clients[client];
    if (who->role == 0 && now_ns - who->since_ns >= coordinator->config.patience_ns) {
        drop(coordinator, client, "has not logged in", now_ns);
    } else if (who->role == CO_ROLE_HOP && now_ns - who->heard_ns >= coordinator->config.lease_ns) {
        drop(coordinator, client, "the hop is silent: its lease has ended", now_ns);
    }
}

// One that reports but does not answer would hold its groups for ever.
static void drop_mute_hops(struct co_coordinator *coordinator, uint64_t now_ns)
{
    unsigned hop;
    while ((hop = co_coordinator_hops_find_mute(coordinator, now_ns)) < CO_COORDINATOR_CLIENTS) {
        drop(coordinator, hop, "the hop does not answer", now_ns);
    }
}

void co_coordinator_tick(struct co_coordinator *coordinator, uint64_t now_ns)
{
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        if (coordinator->clients[i].is_there) {
            check_client(coordinator, i, now_ns);
        }
    }
    drop_mute_hops(coordinator, now_ns);
    co_coordinator_strangers_settle(coordinator, now_ns);
    for (unsigned i = coordinator->group_count; i-- > 0;) { // from the end: a group may go meanwhile
        co_coordinator_group_check_deadline(coordinator, coordinator->groups[i], now_ns);
    }
}

unsigned co_coordinator_groups(const struct co_coordinator *coordinator)
{
    return coordinator->group_count;
}
