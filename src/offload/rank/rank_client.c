// SPDX-License-Identifier: BSD-3-Clause
//
// Commands of a rank; see the header.
#include "offload/rank/rank_client.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/rank/rank_client_state.h"

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

int co_rank_command_give(struct co_rank_client *client, struct co_offload_command *command, const uint8_t *definition,
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

int co_rank_operation_encode(const struct co_rank_client *client, const struct co_offload_operation *operation,
                             uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES])
{
    struct co_offload_operation back;

    co_offload_operation_encode(bytes, operation);
    return co_offload_operation_decode(&back, bytes, client->config.ranks) == 0 ? 0 : -EINVAL;
}

int co_rank_call_give(struct co_rank_client *client, struct co_offload_command *command, struct co_rank_group *group,
                      uint32_t ends, uint32_t *ticket)
{
    if (client->free_count == 0) {
        return -EAGAIN;
    }
    command->ticket = client->free_tickets[client->free_count - 1];
    int error = co_rank_command_give(client, command, NULL, 0);
    if (error == 0) {
        client->free_count--;
        client->group_of[command->ticket] = group;
        client->is_used[command->ticket] = true;
        client->ends_of[command->ticket] = ends;
        client->end_count += ends;
        *ticket = command->ticket;
    }
    return error;
}

int co_rank_ends_check(const struct co_rank_client *client, uint32_t ends)
{
    return ends > client->config.ends_max ? -ENOSPC : ends > client->config.ends_max - client->end_count ? -EAGAIN : 0;
}

int co_rank_client_start(struct co_rank_client *client, const struct co_offload_operation *operation, uint32_t *ticket)
{
    uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES];
    bool is_send = operation->kind == CO_OFFLOAD_OPERATION_SEND;

    if ((!is_send && operation->kind != CO_OFFLOAD_OPERATION_RECEIVE) ||
        co_rank_operation_encode(client, operation, bytes) != 0) {
        return -EINVAL;
    }
    int error = co_rank_ends_check(client, 1);
    if (error == 0) {
        error = co_rank_tags_add(&client->tags, CO_OFFLOAD_BASIC, bytes, 1);
    }
    if (error != 0) {
        return error;
    }
    return co_rank_call_give(
        client,
        &(struct co_offload_command){.kind = is_send ? CO_OFFLOAD_COMMAND_SEND : CO_OFFLOAD_COMMAND_RECEIVE,
                                     .operation = *operation},
        NULL, 1, ticket);
}

int co_rank_client_open_team(struct co_rank_client *client, uint64_t team, const uint8_t *members, uint32_t count)
{
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_TEAM_OPEN, .team = team, .operations = count};

    if (client->team_count >= CO_OFFLOAD_TEAMS_MAX || count > CO_OFFLOAD_MEMBERS_KEPT - client->member_count) {
        return -ENOSPC;
    }
    int error = co_rank_command_give(client, &command, members, co_offload_command_definition_bytes(&command));
    client->team_count += error == 0;
    client->member_count += error == 0 ? count : 0;
    return error;
}

int co_rank_client_close_team(struct co_rank_client *client, uint64_t team, uint32_t count)
{
    int error = co_rank_command_give(
        client, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = team}, NULL, 0);
    client->team_count -= error == 0;
    client->member_count -= error == 0 ? count : 0;
    return error;
}

int co_rank_client_refuse(struct co_rank_client *client, const struct co_offload_command *refusal, uint32_t count,
                          uint32_t *ticket)
{
    struct co_offload_command command = *refusal;
    uint32_t ends = co_offload_command_ends(refusal, count);
    int error = co_rank_ends_check(client, ends);

    return error == 0 ? co_rank_call_give(client, &command, NULL, ends, ticket) : error;
}

int co_rank_client_bye(struct co_rank_client *client)
{
    return co_rank_command_give(client, &(struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BYE}, NULL, 0);
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
    client->end_count -= client->ends_of[ticket];
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
    for (struct co_rank_group *group = client->oldest; group != NULL; group = group->newer) {
        group->number = 0;
    }
    client->oldest = client->newest = NULL;
    client->known_count = 0;
}

struct co_segment_rank *co_rank_client_segment(struct co_rank_client *client)
{
    return &client->segment;
}

const struct co_rank_client_counts *co_rank_client_counts(const struct co_rank_client *client)
{
    return &client->counts;
}
