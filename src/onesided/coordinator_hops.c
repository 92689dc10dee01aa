// SPDX-License-Identifier: BSD-3-Clause
//
// The hops and what they have for each group. One hop in switch mode, or any number in NIC mode, each for one host. A
// hop that is lost keeps its rules until its lease has ended, counted from the last report that was heard of it; one
// that comes (back) gets the rules of the groups that are open.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onesided/coordinator_state.h"

static bool is_hop(const struct client *client)
{
    return client->is_there && client->role == CO_ROLE_HOP;
}

bool co_coordinator_hops_have_any(const struct co_coordinator *coordinator)
{
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        if (is_hop(&coordinator->clients[i])) {
            return true;
        }
    }
    return false;
}

unsigned co_coordinator_hops_for(const struct co_coordinator *coordinator, uint32_t ip)
{
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        const struct client *client = &coordinator->clients[i];
        if (is_hop(client) && (client->hop.mode == CO_HOP_SWITCH || client->hop.serves_ip == ip)) {
            return i;
        }
    }
    return CO_COORDINATOR_CLIENTS;
}

static bool is_wanted(const struct member *member)
{
    return member->state == MEMBER_READY;
}

// The targets of a group behind a hop, into the message.
static uint32_t list_targets(struct co_coordinator *coordinator, const struct group *group, unsigned hop)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < group->member_count && group->state != GROUP_ENDING; i++) {
        const struct member *member = &group->members[i];
        const struct co_coordination_end *end = &member->open.end;
        if (!is_wanted(member) || member->hop != hop) {
            continue;
        }
        struct co_roce_target *target = &coordinator->message.rule.targets[count++];
        memcpy(target->mac, end->mac, sizeof target->mac);
        target->ip = end->ip;
        target->qpn = end->qpn;
        target->psn_offset = (end->psn - group->sender_open.end.psn) & CO_ROCE_PSN_MASK;
        target->rkey = end->rkey;
        target->address = end->address;
    }
    return count;
}

static struct part *part_of(struct group *group, unsigned hop, bool makes)
{
    for (unsigned i = 0; i < group->part_count; i++) {
        if (group->parts[i].hop == hop) {
            return &group->parts[i];
        }
    }
    if (!makes || group->part_count == CO_COORDINATOR_HOPS) {
        return NULL;
    }
    group->parts[group->part_count] = (struct part){.hop = hop};
    return &group->parts[group->part_count++];
}

static uint32_t new_request(struct co_coordinator *coordinator)
{
    uint32_t request = coordinator->next_request++;
    coordinator->next_request += coordinator->next_request == 0; // 0 stands for none
    return request;
}

static void find_hops(const struct co_coordinator *coordinator, struct group *group)
{
    for (unsigned i = 0; i < group->member_count; i++) {
        group->members[i].hop = co_coordinator_hops_for(coordinator, group->members[i].open.end.ip);
    }
}

static void sync_hop(struct co_coordinator *coordinator, struct group *group, unsigned hop, uint64_t now_ns)
{
    uint32_t count = list_targets(coordinator, group, hop);
    struct part *part = part_of(group, hop, count > 0);
    if (part == NULL) {
        return;
    }
    if (count > 0) {
        struct co_coordination_rule *rule = &coordinator->message.rule;
        part->has_rule = true;
        part->asked_ns = now_ns;
        part->request = rule->request = new_request(coordinator);
        rule->config = (struct co_rule_config){.id = group->id,
                                               .group_ip = group->ip,
                                               .sender_ip = group->sender_open.end.ip,
                                               .qpn = group->qpn,
                                               .key = group->key,
                                               .bytes = group->sender_open.bytes,
                                               .action_count = count};
        co_coordinator_send(coordinator, hop, CO_SAY_RULE_SET);
    } else if (part->has_rule) {
        part->request = new_request(coordinator);
        part->asked_ns = now_ns;
        coordinator->message.removal = (struct co_coordination_removal){.request = part->request, .id = group->id};
        co_coordinator_send(coordinator, hop, CO_SAY_RULE_REMOVE);
    }
}

void co_coordinator_hops_sync(struct co_coordinator *coordinator, struct group *group, uint64_t now_ns)
{
    find_hops(coordinator, group);
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        if (is_hop(&coordinator->clients[i])) {
            sync_hop(coordinator, group, i, now_ns);
        }
    }
}

static bool is_mute(const struct co_coordinator *coordinator, const struct part *part, uint64_t now_ns)
{
    return part->request != 0 && now_ns - part->asked_ns >= coordinator->config.patience_ns;
}

unsigned co_coordinator_hops_find_mute(const struct co_coordinator *coordinator, uint64_t now_ns)
{
    for (unsigned i = 0; i < coordinator->group_count; i++) {
        const struct group *group = coordinator->groups[i];
        for (unsigned k = 0; k < group->part_count; k++) {
            if (is_mute(coordinator, &group->parts[k], now_ns)) {
                return group->parts[k].hop;
            }
        }
    }
    return CO_COORDINATOR_CLIENTS;
}

// Text of why this hop cannot be had beside those that are there; false: it can.
static bool find_conflict(const struct co_coordinator *coordinator, unsigned client, char *text, size_t room)
{
    const struct co_coordination_login *login = &coordinator->clients[client].hop;
    unsigned hops = 0;
    for (unsigned i = 0; i < CO_COORDINATOR_CLIENTS; i++) {
        const struct client *other = &coordinator->clients[i];
        if (i == client || !is_hop(other)) {
            continue;
        }
        hops++;
        if (strcmp(other->name, login->name) == 0) {
            snprintf(text, room, "a hop %s is connected already, from %s", login->name, other->place);
            return true;
        }
        if (login->mode == CO_HOP_SWITCH || other->hop.mode == CO_HOP_SWITCH) {
            snprintf(text, room, "hop %s is connected: a hop in switch mode is the only one of its coordinator",
                     other->name);
            return true;
        }
        if (other->hop.serves_ip == login->serves_ip) {
            snprintf(text, room, "hop %s serves this address already", other->name);
            return true;
        }
    }
    if (hops >= CO_COORDINATOR_HOPS) {
        snprintf(text, room, "%u hops are connected, and no more fit", hops);
        return true;
    }
    return false;
}

void co_coordinator_hops_login(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns)
{
    struct client *who = &coordinator->clients[client];
    char text[CO_COORDINATION_TEXT_MAX];
    if (find_conflict(coordinator, client, text, sizeof text)) {
        who->role = CO_ROLE_STATUS; // it may stay, but is no hop
        co_coordinator_log(coordinator, "hop %s at %s: refused: %s", who->name, who->place, text);
        co_coordinator_answer(coordinator, client, CO_SAY_REFUSED, CO_REASON_EXISTS, text);
        return;
    }
    co_coordinator_log(coordinator, "hop %s at %s: connected, %s mode, %u rules, %u actions", who->name, who->place,
                       who->hop.mode == CO_HOP_NIC ? "NIC" : "switch", who->hop.rules, who->hop.actions);
    co_coordinator_answer(coordinator, client, CO_SAY_DONE, CO_REASON_NONE, "");
    for (unsigned i = 0; i < coordinator->group_count; i++) {
        struct group *group = coordinator->groups[i];
        if (group->state == GROUP_OPEN) {
            find_hops(coordinator, group);
            sync_hop(coordinator, group, client, now_ns);
        }
    }
}

bool co_coordinator_hops_abort(struct co_coordinator *coordinator, struct group *group, unsigned hop)
{
    struct part *part = part_of(group, hop, false);
    if (part == NULL) {
        return false;
    }
    // The hop counts its lease from the sending of a report that was heard here at heard_ns or before.
    uint64_t until_ns = coordinator->clients[hop].heard_ns + coordinator->config.lease_ns + CO_COORDINATOR_MARGIN_NS;
    if (part->has_rule && until_ns > group->limbo_until_ns) {
        group->limbo_until_ns = until_ns;
    }
    *part = group->parts[--group->part_count];
    return true;
}

static void take_answer(struct co_coordinator *coordinator, const struct group *group, struct part *part,
                        const struct co_coordination_message *message, char text[CO_COORDINATION_TEXT_MAX])
{
    const struct client *hop = &coordinator->clients[part->hop];
    part->request = 0;
    *text = '\0';
    if (message->kind == CO_SAY_DONE) {
        part->has_rule =
            part->has_rule && group->state != GROUP_ENDING && list_targets(coordinator, group, part->hop) > 0;
        return;
    }
    snprintf(text, CO_COORDINATION_TEXT_MAX, "hop %s: %.180s", hop->name, message->answer.text);
    co_coordinator_log(coordinator, "group %s: %s", group->name, text);
    if (group->state == GROUP_ENDING) { // it had no such rule
        part->has_rule = false;
        *text = '\0';
    }
}

struct group *co_coordinator_hops_answered(struct co_coordinator *coordinator, unsigned client,
                                           const struct co_coordination_message *message,
                                           char text[CO_COORDINATION_TEXT_MAX])
{
    for (unsigned i = 0; i < coordinator->group_count; i++) {
        struct group *group = coordinator->groups[i];
        struct part *part = part_of(group, client, false);
        if (part != NULL && part->request != 0 && part->request == message->answer.request) {
            take_answer(coordinator, group, part, message, text);
            return group;
        }
    }
    return NULL; // of a request that a later one has overtaken, or whose group is gone
}
