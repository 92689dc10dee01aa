// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of a rank's client share: rank_client.c gives commands and collects what became of them, rank_groups.c
// has groups, and which of them the proxy knows.
#ifndef CASTOFF_OFFLOAD_RANK_RANK_CLIENT_STATE_H
#define CASTOFF_OFFLOAD_RANK_RANK_CLIENT_STATE_H

#include "offload/rank/rank_client.h"
#include "offload/rank/rank_tags.h"

struct co_rank_group {
    struct co_rank_client *client;
    struct co_rank_team *team;           // NULL: it is of none
    struct co_rank_group *older, *newer; // of those that the proxy knows, by their last call
    uint64_t number;                     // 0: the proxy does not know it
    struct co_offload_command command;   // by which it is told; the number is filled in
    uint8_t *operations;                 // encoded, or the blocks of a pattern
    uint32_t count, room;                // a pattern counts as that many operations
    uint32_t ends;                       // of all operations
    uint32_t ticket;                     // of its last call; CO_TICKETS: that one was collected
    bool was_called, has_tags;           // has: its tags are among those of the rank
};

struct co_rank_client {
    struct co_segment_rank segment;
    struct co_rank_client_config config;
    struct co_rank_client_counts counts;
    struct co_rank_group *oldest, *newest;
    uint32_t known_count;
    uint32_t operation_count;       // that the proxy keeps
    uint32_t end_count, call_count; // of calls that are not collected and count
    uint32_t team_count, member_count;
    struct co_rank_tags tags;
    uint64_t next_number;
    uint32_t free_tickets[CO_TICKETS], free_count, ticket_end; // given back; from the end on none was taken yet
    struct co_rank_group *group_of[CO_TICKETS];                // NULL: basic, or refused
    struct co_rank_team *team_of[CO_TICKETS];                  // NULL: of none
    uint32_t ends_of[CO_TICKETS];
    bool is_used[CO_TICKETS]; // of a call that is not collected
};

// rank_client.c
int co_rank_command_give(struct co_rank_client *client, struct co_offload_command *command, const uint8_t *definition,
                         size_t bytes); // -EAGAIN
// Under a ticket of its own; `group` is NULL but for a call of one, `team` where it is of none. -EAGAIN.
int co_rank_call_give(struct co_rank_client *client, struct co_offload_command *command, struct co_rank_group *group,
                      struct co_rank_team *team, uint32_t ends, uint32_t *ticket);
// What the proxy would end the connection for. -ENOSPC: always; -EAGAIN: now.
int co_rank_ends_check(const struct co_rank_client *client, const struct co_rank_team *team, uint32_t ends);
// As the proxy will check it: better an error here than a connection that ends. -EINVAL.
int co_rank_operation_encode(const struct co_rank_client *client, const struct co_offload_operation *operation,
                             uint8_t bytes[CO_OFFLOAD_OPERATION_BYTES]);

#endif
