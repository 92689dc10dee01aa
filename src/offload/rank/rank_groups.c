// SPDX-License-Identifier: BSD-3-Clause
//
// Groups and patterns of a rank; see rank_client.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/rank/rank_client_state.h"

// The list of groups that the proxy knows.
static void known_leave(struct co_rank_client *client, struct co_rank_group *group)
{
    *(group->older != NULL ? &group->older->newer : &client->oldest) = group->newer;
    *(group->newer != NULL ? &group->newer->older : &client->newest) = group->older;
    client->known_count--;
}

static void known_join(struct co_rank_client *client, struct co_rank_group *group)
{
    group->older = client->newest;
    group->newer = NULL;
    *(client->newest != NULL ? &client->newest->newer : &client->oldest) = group;
    client->newest = group;
    client->known_count++;
}

// The proxy forgets it when its calls are over.
static int group_forget(struct co_rank_group *group)
{
    int error = co_rank_command_give(
        group->client, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_FORGET, .group = group->number}, NULL,
        0);
    if (error == 0) {
        known_leave(group->client, group);
        group->number = 0;
        if (group->ticket == CO_TICKETS) {
            group->client->operation_count -= group->count;
        }
    }
    return error;
}

static bool has_room(const struct co_rank_client *client, uint32_t operations)
{
    return client->operation_count <= CO_OFFLOAD_OPERATIONS_KEPT &&
           operations <= CO_OFFLOAD_OPERATIONS_KEPT - client->operation_count;
}

// The one that has to go before another one is told; NULL: none, or none that would give room. The proxy keeps the
// operations of one whose call is under way.
static struct co_rank_group *group_to_forget(struct co_rank_client *client, uint32_t operations)
{
    struct co_rank_group *group = client->oldest;

    if (client->known_count == client->config.groups_max) {
        return group;
    }
    while (!has_room(client, operations) && group != NULL && group->ticket != CO_TICKETS) {
        group = group->newer;
    }
    return has_room(client, operations) ? NULL : group;
}

static int group_define(struct co_rank_group *group)
{
    struct co_rank_client *client = group->client;
    struct co_offload_command command = group->command;
    struct co_rank_group *other;

    command.group = client->next_number;
    if (command.kind == CO_OFFLOAD_COMMAND_GROUP) {
        command.operations = group->count;
    }
    while ((other = group_to_forget(client, group->count)) != NULL) {
        int error = group_forget(other);
        if (error != 0) {
            return error;
        }
    }
    bool is_first = group->team != NULL && group->team->call_count == 0; // has always room
    if (!is_first && !has_room(client, group->count)) {
        return -EAGAIN;
    }
    int error =
        co_rank_command_give(client, &command, group->operations, co_offload_command_definition_bytes(&command));
    if (error == 0) {
        group->number = client->next_number++;
        client->counts.definitions++;
        client->operation_count += group->count;
        known_join(client, group);
    }
    return error;
}

int co_rank_group_start(struct co_rank_client *client, struct co_rank_group **out)
{
    struct co_rank_group *group = calloc(1, sizeof *group);
    if (group == NULL) {
        return -ENOMEM;
    }
    group->client = client;
    group->command.kind = CO_OFFLOAD_COMMAND_GROUP;
    group->ticket = CO_TICKETS;
    *out = group;
    return 0;
}

int co_rank_group_pattern(struct co_rank_client *client, const struct co_offload_command *pattern,
                          const uint8_t *definition, uint32_t members, struct co_rank_group **out)
{
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    struct co_offload_command back;
    size_t length = co_offload_command_definition_bytes(pattern);
    struct co_rank_group *group;

    co_offload_command_encode(bytes, pattern);
    if (co_offload_command_decode(&back, bytes, client->config.ranks) != 0) {
        return -EINVAL;
    }
    int error = co_rank_group_start(client, &group);
    if (error != 0) {
        return error;
    }
    group->command = *pattern;
    group->count = length > 0 ? members : 1;
    group->ends = co_offload_command_ends(pattern, members);
    group->has_tags = true; // it has none
    group->operations = length > 0 ? malloc(length) : NULL;
    if (length > 0 && group->operations == NULL) {
        free(group);
        return -ENOMEM;
    }
    if (length > 0) {
        memcpy(group->operations, definition, length);
    }
    *out = group;
    return 0;
}

int co_rank_groups_forget(struct co_rank_client *client, const struct co_rank_team *team)
{
    int error = 0;

    for (struct co_rank_group *group = client->oldest, *newer; error == 0 && group != NULL; group = newer) {
        newer = group->newer;
        error = group->team == team ? group_forget(group) : 0;
    }
    return error;
}

void co_rank_group_join(struct co_rank_group *group, struct co_rank_team *team)
{
    group->team = team;
}

int co_rank_group_record(struct co_rank_group *group, const struct co_offload_operation *operation)
{
    uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES];

    if (group->was_called || group->number != 0 ||
        group->command.kind != CO_OFFLOAD_COMMAND_GROUP) { // told already, where its call had no room
        return -EBUSY;
    }
    if (co_rank_operation_encode(group->client, operation, bytes) != 0) {
        return -EINVAL;
    }
    if (group->count == CO_OFFLOAD_OPERATIONS_MAX) {
        return -ENOSPC;
    }
    if (group->count == group->room) {
        uint32_t room = group->room == 0 ? 8 : 2 * group->room;
        uint8_t *operations = realloc(group->operations, (size_t)room * CO_OFFLOAD_OPERATION_BYTES);
        if (operations == NULL) {
            return -ENOMEM;
        }
        group->operations = operations;
        group->room = room;
    }
    group->has_tags = false;
    group->ends +=
        operation->kind == CO_OFFLOAD_OPERATION_FORWARD ? 2 : operation->kind != CO_OFFLOAD_OPERATION_BARRIER;
    memcpy(group->operations + (size_t)group->count++ * CO_OFFLOAD_OPERATION_BYTES, bytes, sizeof bytes);
    return 0;
}

static int group_check(struct co_rank_group *group)
{
    int error = co_rank_ends_check(group->client, group->team, group->ends);

    if (error == 0 && !group->has_tags) {
        error = co_rank_tags_add(&group->client->tags, CO_OFFLOAD_GROUP, group->operations, group->count);
        group->has_tags = error == 0;
    }
    return error;
}

int co_rank_group_call(struct co_rank_group *group, uint32_t *ticket)
{
    struct co_rank_client *client = group->client;
    bool is_known = group->number != 0;

    if (group->ticket != CO_TICKETS) {
        return -EBUSY;
    }
    int error = group_check(group);
    if (error == 0 && !is_known) {
        error = group_define(group);
    }
    if (error == 0) {
        struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_CALL, .group = group->number};
        error = co_rank_call_give(client, &command, group, group->team, group->ends, &group->ticket);
    }
    if (error != 0) {
        group->ticket = CO_TICKETS;
        return error;
    }
    group->was_called = true;
    client->counts.cached_calls += is_known;
    known_leave(client, group);
    known_join(client, group); // the newest
    *ticket = group->ticket;
    return 0;
}

static void group_release(struct co_rank_group *group)
{
    free(group->operations);
    free(group);
}

int co_rank_group_free(struct co_rank_group *group)
{
    int error = group->ticket != CO_TICKETS ? -EBUSY : group->number != 0 ? group_forget(group) : 0;

    if (error == 0) {
        group_release(group);
    }
    return error;
}

void co_rank_group_abandon(struct co_rank_group *group)
{
    if (group->number != 0) {
        known_leave(group->client, group);
    }
    if (group->ticket < CO_TICKETS) {
        group->client->group_of[group->ticket] = NULL;
    }
    group_release(group);
}
