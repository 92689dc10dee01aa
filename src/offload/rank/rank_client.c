// SPDX-License-Identifier: BSD-3-Clause
//
// Commands of a rank; see the header.
#include "offload/rank/rank_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/rank/rank_tags.h"

struct co_rank_group {
    struct co_rank_client *client;
    struct co_rank_group *older, *newer; // of those that the proxy knows, by their last call
    uint64_t number;                     // 0: the proxy does not know it
    uint8_t *operations;                 // encoded
    uint32_t count, room;
    uint32_t ends;             // of all operations
    uint32_t ticket;           // of its last call; CO_TICKETS: that one was collected
    bool was_called, has_tags; // has: its tags are among those of the rank
};

struct co_rank_client {
    struct co_segment_rank segment;
    struct co_rank_client_config config;
    struct co_rank_client_counts counts;
    struct co_rank_group *oldest, *newest;
    uint32_t known_count;
    uint32_t operation_count; // that the proxy keeps
    uint32_t end_count;       // of calls that are not collected
    struct co_rank_tags tags;
    uint64_t next_number;
    uint32_t free_tickets[CO_TICKETS], free_count;
    struct co_rank_group *group_of[CO_TICKETS]; // NULL: basic
    bool is_used[CO_TICKETS];                   // of a call that is not collected
};

int co_rank_client_open(struct co_rank_client **out, struct co_segment_memory *memory,
                        const struct co_rank_client_config *config)
{
    if (config->groups_max == 0 || config->ends_max == 0) {
        return -EINVAL;
    }
    struct co_rank_client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return -ENOMEM;
    }
    co_segment_rank_open(&client->segment, memory);
    client->config = *config;
    co_rank_tags_open(&client->tags, config->ends_max);
    client->next_number = 1;
    for (uint32_t i = 0; i < CO_TICKETS; i++) {
        client->free_tickets[client->free_count++] = CO_TICKETS - 1 - i;
    }
    *out = client;
    return 0;
}

void co_rank_client_close(struct co_rank_client *client)
{
    co_rank_tags_close(&client->tags);
    free(client);
}

static int command_give(struct co_rank_client *client, struct co_offload_command *command, const uint8_t *definition,
                        size_t bytes)
{
    bool rings = false;
    int error = co_segment_give(&client->segment, command, definition, bytes, &rings);

    client->counts.commands += error == 0;
    if (rings) {
        client->config.ring(client->config.context);
    }
    return error;
}

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
    int error =
        command_give(group->client,
                     &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_FORGET, .group = group->number}, NULL, 0);
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
    return operations <= CO_OFFLOAD_OPERATIONS_KEPT - client->operation_count;
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
    struct co_offload_command command = {
        .kind = CO_OFFLOAD_COMMAND_GROUP, .group = client->next_number, .operations = group->count};

    struct co_rank_group *other;
    while ((other = group_to_forget(client, group->count)) != NULL) {
        int error = group_forget(other);
        if (error != 0) {
            return error;
        }
    }
    if (!has_room(client, group->count)) {
        return -EAGAIN;
    }
    int error = command_give(client, &command, group->operations, (size_t)group->count * CO_OFFLOAD_OPERATION_BYTES);
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
    group->ticket = CO_TICKETS;
    *out = group;
    return 0;
}

// As the proxy will check it: better an error here than a connection that ends.
static int operation_encode(const struct co_rank_client *client, const struct co_offload_operation *operation,
                            uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES])
{
    struct co_offload_operation back;

    co_offload_operation_encode(bytes, operation);
    return co_offload_operation_decode(&back, bytes, client->config.ranks) == 0 ? 0 : -EINVAL;
}

int co_rank_group_record(struct co_rank_group *group, const struct co_offload_operation *operation)
{
    uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES];

    if (group->was_called || group->number != 0) { // told already, where its call had no room
        return -EBUSY;
    }
    if (operation_encode(group->client, operation, bytes) != 0) {
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

// Gives the command under a ticket of its own.
static int call_give(struct co_rank_client *client, struct co_offload_command *command, struct co_rank_group *group,
                     uint32_t *ticket)
{
    if (client->free_count == 0) {
        return -EAGAIN;
    }
    command->ticket = client->free_tickets[client->free_count - 1];
    int error = command_give(client, command, NULL, 0);
    if (error == 0) {
        client->free_count--;
        client->group_of[command->ticket] = group;
        client->is_used[command->ticket] = true;
        client->end_count += group != NULL ? group->ends : 1;
        *ticket = command->ticket;
    }
    return error;
}

// What the proxy would end the connection for.
static int ends_check(const struct co_rank_client *client, uint32_t ends)
{
    return ends > client->config.ends_max ? -ENOSPC : ends > client->config.ends_max - client->end_count ? -EAGAIN : 0;
}

static int group_check(struct co_rank_group *group)
{
    int error = ends_check(group->client, group->ends);

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
        error = call_give(client, &command, group, &group->ticket);
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

int co_rank_group_free(struct co_rank_group *group)
{
    int error = group->ticket != CO_TICKETS ? -EBUSY : group->number != 0 ? group_forget(group) : 0;

    if (error == 0) {
        free(group->operations);
        free(group);
    }
    return error;
}

int co_rank_client_start(struct co_rank_client *client, const struct co_offload_operation *operation, uint32_t *ticket)
{
    uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES];
    bool is_send = operation->kind == CO_OFFLOAD_OPERATION_SEND;

    if ((!is_send && operation->kind != CO_OFFLOAD_OPERATION_RECEIVE) ||
        operation_encode(client, operation, bytes) != 0) {
        return -EINVAL;
    }
    int error = ends_check(client, 1);
    if (error == 0) {
        error = co_rank_tags_add(&client->tags, CO_OFFLOAD_BASIC, bytes, 1);
    }
    if (error != 0) {
        return error;
    }
    return call_give(
        client,
        &(struct co_offload_command){.kind = is_send ? CO_OFFLOAD_COMMAND_SEND : CO_OFFLOAD_COMMAND_RECEIVE,
                                     .operation = *operation},
        NULL, ticket);
}

int co_rank_client_bye(struct co_rank_client *client)
{
    return command_give(client, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE}, NULL, 0);
}

bool co_rank_client_is_done(const struct co_rank_client *client, uint32_t ticket)
{
    return co_segment_is_done(&client->segment, ticket);
}

// The ticket is free, and its group may be called again.
static void ticket_release(struct co_rank_client *client, uint32_t ticket)
{
    struct co_rank_group *group = client->group_of[ticket];

    client->is_used[ticket] = false;
    client->end_count -= group != NULL ? group->ends : 1;
    if (group != NULL) {
        group->ticket = CO_TICKETS;
        client->operation_count -= group->number == 0 ? group->count : 0; // forgotten meanwhile
        client->group_of[ticket] = NULL;
    }
    client->free_tickets[client->free_count++] = ticket;
}

struct co_offload_completion co_rank_client_collect(struct co_rank_client *client, uint32_t ticket)
{
    if (ticket >= CO_TICKETS || !client->is_used[ticket] || !co_segment_is_done(&client->segment, ticket)) {
        return (struct co_offload_completion){.state = CO_OFFLOAD_COMPLETION_DONE, .error = -EINVAL};
    }
    struct co_offload_completion completion = co_segment_collect(&client->segment, ticket);

    ticket_release(client, ticket);
    return completion;
}

void co_rank_client_lost(struct co_rank_client *client)
{
    for (uint32_t ticket = 0; ticket < CO_TICKETS; ticket++) {
        if (client->is_used[ticket] && !co_segment_is_done(&client->segment, ticket)) {
            ticket_release(client, ticket);
        }
    }
    while (client->oldest != NULL) {
        client->oldest->number = 0;
        known_leave(client, client->oldest);
    }
}

struct co_segment_rank *co_rank_client_segment(struct co_rank_client *client)
{
    return &client->segment;
}

const struct co_rank_client_counts *co_rank_client_counts(const struct co_rank_client *client)
{
    return &client->counts;
}
