// SPDX-License-Identifier: BSD-3-Clause
//
// How a group comes together and what its members say to each other; coordinator_ends.c has how it goes on and ends.
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onesided/coordinator_state.h"

enum { TEXT = CO_COORDINATION_TEXT_MAX };

static void refuse(struct co_coordinator *coordinator, unsigned client, uint8_t reason, const char *text)
{
    const struct client *who = &coordinator->clients[client];
    co_coordinator_log(coordinator, "%s at %s: refused: %s", who->name, who->place, text);
    co_coordinator_answer(coordinator, client, CO_SAY_REFUSED, reason, text);
}

static struct group *find_group(const struct co_coordinator *coordinator, const char *name)
{
    for (unsigned i = 0; i < coordinator->group_count; i++) {
        if (strcmp(coordinator->groups[i]->name, name) == 0) {
            return coordinator->groups[i];
        }
    }
    return NULL;
}

// The first address that no group has; 0 when all are taken.
static uint32_t free_address(const struct co_coordinator *coordinator)
{
    for (unsigned i = 0; i < coordinator->config.addresses; i++) {
        uint32_t ip =
            coordinator->config.first_ip + (uint32_t)((coordinator->next_id + i) % coordinator->config.addresses);
        unsigned k = 0;
        while (k < coordinator->group_count && coordinator->groups[k]->ip != ip) {
            k++;
        }
        if (k == coordinator->group_count) {
            return ip;
        }
    }
    return 0;
}

// Neither 0 and 1, which InfiniBand keeps for itself, nor its multicast QPN. Random, so that a packet of a group that
// was there before does not fit.
static uint32_t random_qpn(void)
{
    return 2 + randombytes_uniform(CO_ROCE_PSN_MASK - 2);
}

static struct group *make_group(struct co_coordinator *coordinator, const char *name, uint64_t now_ns)
{
    uint32_t ip = free_address(coordinator);
    struct group *group = NULL;
    if (coordinator->group_count < CO_COORDINATOR_GROUPS && ip != 0) {
        group = calloc(1, sizeof *group);
    }
    if (group == NULL) {
        return NULL;
    }
    snprintf(group->name, sizeof group->name, "%s", name);
    group->id = coordinator->next_id++;
    group->ip = ip;
    group->qpn = random_qpn();
    group->key = randombytes_random();
    group->since_ns = now_ns;
    coordinator->groups[coordinator->group_count++] = group;
    return group;
}

// What is wrong with the group's ends, as text; false: nothing.
static bool find_fault(const struct co_coordinator *coordinator, const struct group *group, uint8_t *reason,
                       char text[TEXT])
{
    if (group->member_count > group->sender_open.members) {
        snprintf(text, TEXT, "%u members have joined, and %u are wanted", group->member_count,
                 group->sender_open.members);
        *reason = CO_REASON_WRONG;
        return true;
    }
    for (unsigned i = 0; i < group->member_count; i++) {
        const struct co_coordination_open *member = &group->members[i].open;
        if (member->bytes < group->sender_open.bytes) {
            snprintf(text, TEXT, "member %s has registered %llu bytes, and %llu are to be written", member->name,
                     (unsigned long long)member->bytes, (unsigned long long)group->sender_open.bytes);
            *reason = CO_REASON_WRONG;
            return true;
        }
        if (co_coordinator_hops_for(coordinator, member->end.ip) == CO_COORDINATOR_CLIENTS) {
            snprintf(text, TEXT, "no hop is connected that leads to member %s", member->name);
            *reason = CO_REASON_NO_HOP;
            return true;
        }
    }
    return false;
}

static void say_setup(struct co_coordinator *coordinator, const struct group *group)
{
    for (unsigned i = 0; i < group->member_count; i++) {
        coordinator->message.setup = co_coordinator_setup(group, group->sender_open.end.ip);
        co_coordinator_send(coordinator, group->members[i].client, CO_SAY_SETUP);
    }
}

// Begins to set up when all are there.
static void try_start(struct co_coordinator *coordinator, struct group *group, uint64_t now_ns)
{
    char text[TEXT];
    uint8_t reason;
    if (!group->has_sender || group->member_count < group->sender_open.members) {
        return;
    }
    if (find_fault(coordinator, group, &reason, text)) {
        co_coordinator_group_end(coordinator, group, reason, text, now_ns);
        return;
    }
    group->mtu = group->sender_open.end.mtu;
    for (unsigned i = 0; i < group->member_count; i++) {
        uint32_t mtu = group->members[i].open.end.mtu;
        group->mtu = mtu < group->mtu ? mtu : group->mtu;
    }
    group->state = GROUP_SETTING_UP;
    group->deadline_ns = now_ns + coordinator->config.patience_ns;
    say_setup(coordinator, group);
}

// Text of why this cannot be; NULL: it can.
static const char *check_sender(const struct co_coordinator *coordinator, const struct group *group,
                                const struct co_coordination_open *open, uint8_t *reason, char text[TEXT])
{
    *reason = CO_REASON_WRONG;
    if (open->bytes == 0 || open->bytes > CO_TRANSFER_BYTES_MAX || open->members == 0 ||
        open->members > CO_RULE_ACTIONS_MAX) {
        snprintf(text, TEXT, "a group has 1 to %d members and 1 byte to 2 TiB", CO_RULE_ACTIONS_MAX);
        return text;
    }
    if (group != NULL && group->has_sender) {
        *reason = CO_REASON_EXISTS;
        snprintf(text, TEXT, "group %s has a sender already: %s at %s", group->name, group->sender_open.name,
                 coordinator->clients[group->sender].place);
        return text;
    }
    if (group != NULL && group->state != GROUP_GATHERING) {
        *reason = CO_REASON_EXISTS;
        snprintf(text, TEXT, "group %s is just ending", group->name);
        return text;
    }
    return NULL;
}

static const char *check_member(const struct group *group, const struct co_coordination_open *open, uint8_t *reason,
                                char text[TEXT])
{
    *reason = CO_REASON_WRONG;
    if (open->bytes == 0 || open->end.qpn == 0) {
        return "a member needs a buffer and a queue pair";
    }
    *reason = CO_REASON_FULL;
    if (group != NULL && group->member_count >= CO_RULE_ACTIONS_MAX) {
        snprintf(text, TEXT, "group %s has %u members, and no more fit", group->name, group->member_count);
        return text;
    }
    *reason = CO_REASON_EXISTS;
    if (group != NULL && group->state != GROUP_GATHERING) {
        snprintf(text, TEXT, "group %s is under way and takes no members any more", group->name);
        return text;
    }
    for (unsigned i = 0; group != NULL && i < group->member_count; i++) {
        if (strcmp(group->members[i].open.name, open->name) == 0) {
            snprintf(text, TEXT, "group %s has a member %s already", group->name, open->name);
            return text;
        }
    }
    return NULL;
}

static bool add_member(struct group *group, unsigned client, const struct co_coordination_open *open)
{
    if (group->member_count == group->member_room) {
        unsigned room = group->member_room == 0 ? 8 : 2 * group->member_room;
        struct member *members = realloc(group->members, room * sizeof *members);
        if (members == NULL) {
            return false;
        }
        group->members = members;
        group->member_room = room;
    }
    group->members[group->member_count++] = (struct member){.client = client, .open = *open};
    return true;
}

static void join(struct co_coordinator *coordinator, struct group *group, unsigned client,
                 const struct co_coordination_message *message, uint64_t now_ns)
{
    if (message->kind == CO_SAY_OPEN_SENDER) {
        group->has_sender = true;
        group->sender = client;
        group->sender_open = message->open;
        group->deadline_ns = now_ns + (uint64_t)message->open.patience_ms * 1000000;
        coordinator->groups_opened++;
    } else if (!add_member(group, client, &message->open)) {
        refuse(coordinator, client, CO_REASON_FULL, "no memory for a member");
        co_coordinator_group_settle(coordinator, group, now_ns); // it may have been made for this one
        return;
    }
    coordinator->clients[client].group = group;
    try_start(coordinator, group, now_ns);
}

// Told to all ends alike, whoever comes first: a member that waits for a sender that has been refused waits in vain.
static const char *check_hops(struct co_coordinator *coordinator, struct group *group, uint8_t *reason, uint64_t now_ns)
{
    static const char text[] = "no hop is connected";
    if (co_coordinator_hops_have_any(coordinator)) {
        return NULL;
    }
    *reason = CO_REASON_NO_HOP;
    if (group != NULL && group->state == GROUP_GATHERING) {
        co_coordinator_group_end(coordinator, group, CO_REASON_NO_HOP, text, now_ns);
    }
    return text;
}

void co_coordinator_group_open(struct co_coordinator *coordinator, unsigned client,
                               const struct co_coordination_message *message, uint64_t now_ns)
{
    const struct co_coordination_open *open = &message->open;
    struct group *group = find_group(coordinator, open->group);
    char text[TEXT];
    uint8_t reason = CO_REASON_WRONG;
    const char *fault = "a connection is for one group";
    if (coordinator->clients[client].group == NULL) {
        fault = message->kind == CO_SAY_OPEN_SENDER ? check_sender(coordinator, group, open, &reason, text)
                                                    : check_member(group, open, &reason, text);
    }
    fault = fault == NULL ? check_hops(coordinator, group, &reason, now_ns) : fault;
    if (fault == NULL && group == NULL) {
        group = make_group(coordinator, open->group, now_ns);
        reason = CO_REASON_FULL;
        fault = group == NULL ? "no room for another group" : NULL;
    }
    if (fault != NULL) {
        refuse(coordinator, client, reason, fault);
    } else {
        join(coordinator, group, client, message, now_ns);
    }
}

void co_coordinator_group_ready(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns)
{
    struct group *group = coordinator->clients[client].group;
    struct member *member = group != NULL ? co_coordinator_group_member(group, client) : NULL;
    if (member == NULL || group->state != GROUP_SETTING_UP) {
        return; // too late: the group has been given up meanwhile
    }
    member->state = MEMBER_READY;
    for (unsigned i = 0; i < group->member_count; i++) {
        if (group->members[i].state != MEMBER_READY) {
            return;
        }
    }
    group->state = GROUP_INSTALLING;
    co_coordinator_hops_sync(coordinator, group, now_ns);
    co_coordinator_group_settle(coordinator, group, now_ns);
}

void co_coordinator_group_pass_on(struct co_coordinator *coordinator, unsigned client,
                                  struct co_coordination_message *message)
{
    struct group *group = coordinator->clients[client].group;
    if (group == NULL || group->state != GROUP_OPEN) {
        return;
    }
    if (message->kind == CO_SAY_ROUND && client == group->sender) {
        for (unsigned i = 0; i < group->member_count; i++) {
            if (group->members[i].state == MEMBER_READY) {
                coordinator->output.say(coordinator->output.context, group->members[i].client, message);
            }
        }
        return;
    }
    struct member *member = co_coordinator_group_member(group, client);
    if (message->kind == CO_SAY_MISSING && member != NULL) {
        member->round = message->missing.round;
        member->missing = message->missing.missing;
        memcpy(message->missing.name, member->open.name, sizeof message->missing.name);
        coordinator->output.say(coordinator->output.context, group->sender, message);
    }
}
