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

// One that was given back, so that the others need no memory. There is one for each call that counts, and one for each
// team.
static uint32_t ticket_next(const struct co_rank_client *client)
{
    return client->free_count > 0 ? client->free_tickets[client->free_count - 1] : client->ticket_end;
}

static void ticket_take(struct co_rank_client *client, uint32_t ticket)
{
    if (client->free_count > 0) {
        client->free_count--;
    } else {
        client->ticket_end++;
    }
    client->is_used[ticket] = true;
}

// Whether one more, or one less, beside those of its team that are under way is one that counts; and what it counts.
// The proxy counts alike (proxy_executor.c), and no more than this: there a call is over before it is collected here.
static bool counts(const struct co_rank_team *team)
{
    return team == NULL || team->call_count > 0;
}

static uint32_t ends_counted(const struct co_rank_team *team, uint32_t ends)
{
    return team == NULL ? ends : CO_OFFLOAD_ENDS_A_MEMBER * team->members;
}

int co_rank_call_give(struct co_rank_client *client, struct co_offload_command *command, struct co_rank_group *group,
                      struct co_rank_team *team, uint32_t ends, uint32_t *ticket)
{
    command->ticket = ticket_next(client);
    int error = co_rank_command_give(client, command, NULL, 0);
    if (error != 0) {
        return error;
    }
    if (counts(team)) {
        client->call_count++;
        client->end_count += ends_counted(team, ends);
    }
    if (team != NULL) {
        team->call_count++;
    }
    ticket_take(client, command->ticket);
    client->group_of[command->ticket] = group;
    client->team_of[command->ticket] = team;
    client->ends_of[command->ticket] = ends;
    *ticket = command->ticket;
    return 0;
}

int co_rank_ends_check(const struct co_rank_client *client, const struct co_rank_team *team, uint32_t ends)
{
    uint32_t counted = ends_counted(team, ends);

    if (!counts(team)) {
        return 0;
    }
    if (team == NULL && ends > client->config.ends_max) {
        return -ENOSPC;
    }
    bool has_room = client->call_count < CO_OFFLOAD_CALLS_MAX && counted <= client->config.ends_max &&
                    client->end_count <= client->config.ends_max - counted;
    return has_room ? 0 : -EAGAIN;
}

int co_rank_client_start(struct co_rank_client *client, const struct co_offload_operation *operation, uint32_t *ticket)
{
    uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES];
    bool is_send = operation->kind == CO_OFFLOAD_OPERATION_SEND;

    if ((!is_send && operation->kind != CO_OFFLOAD_OPERATION_RECEIVE) ||
        co_rank_operation_encode(client, operation, bytes) != 0) {
        return -EINVAL;
    }
    int error = co_rank_ends_check(client, NULL, 1);
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
        NULL, NULL, 1, ticket);
}

int co_rank_client_open_team(struct co_rank_client *client, uint64_t team, const uint8_t *members, uint32_t count,
                             uint64_t begun)
{
    struct co_offload_command command = {
        .kind = CO_OFFLOAD_COMMAND_TEAM_OPEN, .team = team, .operations = count, .begun = begun};

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

int co_rank_client_refuse(struct co_rank_client *client, const struct co_offload_command *refusal,
                          struct co_rank_team *team, uint32_t *ticket)
{
    struct co_offload_command command = *refusal;
    int error = co_rank_ends_check(client, team, 0);

    return error == 0 ? co_rank_call_give(client, &command, NULL, team, 0, ticket) : error;
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
    struct co_rank_team *team = client->team_of[ticket];

    client->is_used[ticket] = false;
    if (team != NULL) {
        team->call_count--;
    }
    if (counts(team)) {
        client->call_count--;
        client->end_count -= ends_counted(team, client->ends_of[ticket]);
    }
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
    for (uint32_t ticket = 0; ticket < client->ticket_end; ticket++) {
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
