// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of teams: an all-to-all becomes two ends for each member when it is called, and all of them begin at once. Its
// number is that of the rank's calls of the team, so the same on all members. A receive says no READY of its own: that
// its rank has begun the call (CALLED) is said once, when all of them are open. Called by the executor and
// proxy_core.c; hot.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "offload/offload_pattern.h"
#include "offload/proxy/proxy_state.h"

static struct co_offload_blocks blocks_of(const struct co_proxy_group *group, uint32_t place)
{
    return group->blocks != NULL ? group->blocks[place]
                                 : co_offload_blocks_equal(group->send, group->receive, group->block_bytes, place);
}

static bool range_is_good(uint64_t address, uint64_t bytes)
{
    return bytes <= CO_OFFLOAD_BYTES_MAX && address <= UINT64_MAX - bytes;
}

static int blocks_decode(struct co_proxy_group *group, const uint8_t *definition)
{
    for (uint32_t i = 0; i < group->team->count; i++) {
        struct co_offload_blocks blocks = co_offload_blocks_decode(definition + (size_t)i * CO_OFFLOAD_BLOCKS_BYTES);
        if (!range_is_good(blocks.send_address, blocks.send_bytes) ||
            !range_is_good(blocks.receive_address, blocks.receive_bytes)) {
            return -EPROTO;
        }
        group->blocks[i] = blocks;
    }
    return 0;
}

static int equal_decode(struct co_proxy_group *group, const struct co_offload_command *command)
{
    uint64_t all;
    group->send = command->send;
    group->receive = command->receive;
    group->block_bytes = command->bytes;
    return !__builtin_mul_overflow(command->bytes, (uint64_t)group->team->count, &all) &&
                   range_is_good(command->send, all) && range_is_good(command->receive, all)
               ? 0
               : -EPROTO;
}

// Of that team, with room for blocks where each has a length of its own.
static struct co_proxy_group *group_make(struct co_proxy_team *team, bool has_own, bool has_blocks)
{
    struct co_proxy_group *group = calloc(1, sizeof *group);

    if (group != NULL && has_blocks) {
        group->blocks = calloc(team->count, sizeof *group->blocks);
    }
    if (group == NULL || (has_blocks && group->blocks == NULL)) {
        free(group);
        return NULL;
    }
    team->uses++;
    group->team = team;
    group->has_own = has_own;
    group->ends = 2 * (team->count - !has_own);
    return group;
}

int co_proxy_pattern_define(struct co_proxy *proxy, struct co_proxy_rank *rank,
                            const struct co_offload_command *command, const uint8_t *definition, size_t bytes)
{
    bool has_blocks = command->kind == CO_OFFLOAD_COMMAND_ALLTOALLV;
    struct co_proxy_team *team = co_hash_map_get(&rank->teams, command->team);

    if (team == NULL || bytes != (has_blocks ? (size_t)team->count * CO_OFFLOAD_BLOCKS_BYTES : 0)) {
        return -EPROTO;
    }
    uint32_t kept = has_blocks ? team->count : 1;
    if (rank->groups.count >= proxy->config.groups_max ||
        kept > CO_OFFLOAD_OPERATIONS_KEPT + CO_OFFLOAD_MEMBERS_KEPT - rank->operation_count) { // one of each team
        return -ENOSPC;
    }
    struct co_proxy_group *group = group_make(team, command->has_own, has_blocks);
    if (group == NULL) {
        return -ENOMEM;
    }
    group->uses = 1;
    group->count = kept;
    rank->operation_count += kept;
    proxy->counts.operations += kept;
    int error = has_blocks ? blocks_decode(group, definition) : equal_decode(group, command);
    if (error == 0) {
        error = co_hash_map_put(&rank->groups, command->group, group);
    }
    if (error != 0) {
        co_proxy_group_release(proxy, rank, group);
    }
    return error == -EEXIST ? -EPROTO : error;
}

int co_proxy_pattern_make_empty(struct co_proxy_rank *rank, uint64_t id, struct co_proxy_group **out)
{
    struct co_proxy_team *team = co_hash_map_get(&rank->teams, id);
    if (team == NULL) {
        return -EPROTO;
    }
    *out = group_make(team, false, false);
    if (*out == NULL) {
        return -ENOMEM;
    }
    (*out)->uses = 1;
    return 0;
}

static int end_call(struct co_proxy *proxy, struct co_proxy_call *call, bool is_send, uint32_t place, uint64_t number)
{
    const struct co_proxy_team *team = call->group->team;
    struct co_offload_blocks blocks = blocks_of(call->group, place);
    struct co_proxy_end *end = &call->ends[call->end_count];
    uint32_t own = (uint32_t)call->rank, other = team->members[place]->node.key.from;

    end->call = call;
    end->is_send = is_send;
    end->is_length_known = is_send;
    end->address = is_send ? blocks.send_address : blocks.receive_address;
    end->bytes = is_send ? blocks.send_bytes : blocks.receive_bytes;
    end->node.key = (struct co_offload_key){.from = is_send ? own : other,
                                            .to = is_send ? other : own,
                                            .tag = team->id,
                                            .space = CO_OFFLOAD_TEAM,
                                            .number = number};
    co_proxy_link_init(&end->outgoing);
    int error = co_proxy_end_reserve(proxy, end);
    if (error == 0) {
        co_proxy_end_enter(proxy, end);
        call->end_count++;
    }
    return error;
}

int co_proxy_pattern_call(struct co_proxy *proxy, struct co_proxy_call *call)
{
    struct co_proxy_team *team = call->group->team;
    uint64_t number = team->next++;
    int error = 0;

    for (uint32_t i = !call->group->has_own; i < team->count && error == 0; i++) {
        error = end_call(proxy, call, false, co_offload_pattern_from(team->count, team->place, i), number);
        if (error == 0) {
            error = end_call(proxy, call, true, co_offload_pattern_to(team->count, team->place, i), number);
        }
    }
    return error;
}

void co_proxy_pattern_open(struct co_proxy *proxy, struct co_proxy_call *call)
{
    struct co_proxy_team *team = call->group->team;
    uint64_t number = call->ends[0].node.key.number;

    call->open = call->end_position = call->end_count;
    for (uint32_t i = 0; i < call->end_count; i++) {
        call->ends[i].state = CO_PROXY_END_OPEN;
    }
    for (uint32_t i = 0; i < call->end_count; i++) {
        struct co_proxy_end *end = &call->ends[i];
        uint32_t step = i / 2 + !call->group->has_own;
        if (!end->is_send || end->is_failed ||
            !co_proxy_team_wait(team, co_offload_pattern_to(team->count, team->place, step), end)) {
            co_proxy_end_open(proxy, end);
        }
    }
    co_proxy_team_called(proxy, team, number + 1);
}
