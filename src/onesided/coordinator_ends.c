// SPDX-License-Identifier: BSD-3-Clause
//
// How a group goes on when its hops have answered, and how it ends: rules go, and are known to be gone, before anybody
// is told that it is over.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onesided/coordinator_state.h"

enum { TEXT = CO_COORDINATION_TEXT_MAX };

struct member *co_coordinator_group_member(struct group *group, unsigned client)
{
    for (unsigned i = 0; i < group->member_count; i++) {
        if (group->members[i].client == client && group->members[i].state != MEMBER_LOST) {
            return &group->members[i];
        }
    }
    return NULL;
}

static bool is_settled(const struct group *group, uint64_t now_ns)
{
    for (unsigned i = 0; i < group->part_count; i++) {
        if (group->parts[i].request != 0) {
            return false;
        }
    }
    return now_ns >= group->limbo_until_ns;
}

static void remove_member(struct group *group, unsigned i)
{
    memmove(&group->members[i], &group->members[i + 1], (group->member_count - i - 1) * sizeof *group->members);
    group->member_count--;
}

// Those that wanted to leave, and to whose memory no rule leads any more.
static void let_leave(struct co_coordinator *coordinator, struct group *group)
{
    for (unsigned i = group->member_count; i-- > 0;) {
        struct member *member = &group->members[i];
        if (member->state == MEMBER_LEAVING) {
            coordinator->clients[member->client].group = NULL;
            co_coordinator_answer(coordinator, member->client, CO_SAY_DONE, CO_REASON_NONE, "");
        }
        if (member->state == MEMBER_LEAVING || member->state == MEMBER_LOST) {
            remove_member(group, i);
        }
    }
}

static void free_group(struct co_coordinator *coordinator, struct group *group)
{
    unsigned i = 0;
    while (coordinator->groups[i] != group) {
        i++;
    }
    coordinator->groups[i] = coordinator->groups[--coordinator->group_count];
    free(group->members);
    free(group);
}

static void tell_the_end(struct co_coordinator *coordinator, struct group *group)
{
    for (unsigned i = 0; i < group->member_count; i++) {
        const struct member *member = &group->members[i];
        coordinator->clients[member->client].group = NULL;
        co_coordinator_answer(coordinator, member->client, CO_SAY_ENDED, group->end_reason, group->end_text);
    }
    if (group->has_sender) {
        coordinator->clients[group->sender].group = NULL;
        co_coordinator_answer(coordinator, group->sender, group->sender_closes ? CO_SAY_DONE : CO_SAY_ENDED,
                              group->end_reason, group->end_text);
    }
    co_coordinator_log(coordinator, "group %s: over%s%s", group->name, group->end_text[0] != '\0' ? ": " : "",
                       group->end_text);
    free_group(coordinator, group);
}

static void say_go(struct co_coordinator *coordinator, struct group *group)
{
    group->state = GROUP_OPEN;
    coordinator->message.setup = co_coordinator_setup(group, group->ip);
    co_coordinator_send(coordinator, group->sender, CO_SAY_GO);
    co_coordinator_log(coordinator, "group %s: open, %u members", group->name, group->member_count);
}

void co_coordinator_group_settle(struct co_coordinator *coordinator, struct group *group, uint64_t now_ns)
{
    if (!is_settled(group, now_ns)) {
        return;
    }
    let_leave(coordinator, group);
    if (group->state == GROUP_ENDING) {
        tell_the_end(coordinator, group);
    } else if (group->state == GROUP_INSTALLING) {
        say_go(coordinator, group);
    } else if (group->state == GROUP_GATHERING && !group->has_sender && group->member_count == 0) {
        free_group(coordinator, group);
    }
}

void co_coordinator_group_end(struct co_coordinator *coordinator, struct group *group, uint8_t reason, const char *text,
                              uint64_t now_ns)
{
    if (group->state != GROUP_ENDING) {
        group->state = GROUP_ENDING;
        group->end_reason = reason;
        snprintf(group->end_text, sizeof group->end_text, "%s", text);
        coordinator->groups_failed += reason != CO_REASON_NONE;
        co_coordinator_hops_sync(coordinator, group, now_ns);
    }
    co_coordinator_group_settle(coordinator, group, now_ns);
}

static void member_leaves(struct co_coordinator *coordinator, struct group *group, struct member *member, bool is_lost,
                          uint64_t now_ns)
{
    char text[TEXT];
    snprintf(text, sizeof text, "member %s has %s", member->open.name, is_lost ? "been lost" : "left");
    bool was_open = group->state == GROUP_OPEN;
    member->state = is_lost ? MEMBER_LOST : MEMBER_LEAVING;
    if (group->state == GROUP_SETTING_UP || group->state == GROUP_INSTALLING) {
        co_coordinator_group_end(coordinator, group, CO_REASON_LOST, text, now_ns);
        return;
    }
    if (was_open) {
        co_coordinator_log(coordinator, "group %s: %s", group->name, text);
        snprintf(coordinator->message.name, sizeof coordinator->message.name, "%s", member->open.name);
        co_coordinator_send(coordinator, group->sender, CO_SAY_MEMBER_LOST);
        co_coordinator_hops_sync(coordinator, group, now_ns);
    }
    co_coordinator_group_settle(coordinator, group, now_ns);
}

void co_coordinator_group_leave(struct co_coordinator *coordinator, unsigned client, bool is_lost, uint64_t now_ns)
{
    struct group *group = coordinator->clients[client].group;
    struct member *member = group != NULL ? co_coordinator_group_member(group, client) : NULL;
    if (group == NULL) { // its group has ended, or it never had one
        co_coordinator_answer(coordinator, client, CO_SAY_DONE, CO_REASON_NONE, "");
        return;
    }
    if (member != NULL) {
        if (is_lost) {
            coordinator->clients[client].group = NULL;
        }
        member_leaves(coordinator, group, member, is_lost, now_ns);
        return;
    }
    group->has_sender = !is_lost;
    group->sender_closes = !is_lost;
    if (is_lost) {
        coordinator->clients[client].group = NULL;
    }
    co_coordinator_group_end(coordinator, group, is_lost ? CO_REASON_LOST : CO_REASON_NONE,
                             is_lost ? "the sender has been lost" : "", now_ns);
}

static void list_names(const struct group *group, bool only_silent, char *out, size_t room)
{
    size_t at = 0;
    *out = '\0';
    for (unsigned i = 0; i < group->member_count && at < room; i++) {
        const struct member *member = &group->members[i];
        if (!only_silent || member->state == MEMBER_JOINED) {
            at += (size_t)snprintf(out + at, room - at, "%s%s", at > 0 ? ", " : "", member->open.name);
        }
    }
}

void co_coordinator_group_check_deadline(struct co_coordinator *coordinator, struct group *group, uint64_t now_ns)
{
    char names[128], text[TEXT];
    if (group->limbo_until_ns != 0 && now_ns >= group->limbo_until_ns) {
        group->limbo_until_ns = 0;
        co_coordinator_group_settle(coordinator, group, now_ns);
        return; // the group may be gone
    }
    if (now_ns < group->deadline_ns || !group->has_sender) {
        return;
    }
    double patience = (double)coordinator->config.patience_ns / 1e9;
    if (group->state == GROUP_GATHERING) {
        list_names(group, false, names, sizeof names);
        snprintf(text, sizeof text, "%u of %u members have joined in time%s%s", group->member_count,
                 group->sender_open.members, *names != '\0' ? ": " : "", names);
        co_coordinator_group_end(coordinator, group, CO_REASON_DEADLINE, text, now_ns);
    } else if (group->state == GROUP_SETTING_UP) {
        list_names(group, true, names, sizeof names);
        snprintf(text, sizeof text, "no answer to set-up within %.3g s from %s", patience, names);
        co_coordinator_group_end(coordinator, group, CO_REASON_DEADLINE, text, now_ns);
    }
}
