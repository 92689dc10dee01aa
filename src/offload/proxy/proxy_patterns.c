// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of teams: what each becomes when it is called, of which all ends begin at once. An all-to-all is two ends for
// each member, a broadcast a place in a tree (proxy_trees.h), an allgather one in a tree from each member. Numbers are
// those of the rank's calls of the team, so the same on all members; an allgather takes as many as it has trees, one
// for each. A receive says no READY of its own: that its rank has begun the call (CALLED) is said once, when all of
// them are open, to those proxies from which something comes. Called by the executor and proxy_core.c; hot.
#include <errno.h>
#include <stdlib.h>

#include "offload/offload_pattern.h"
#include "offload/proxy/proxy_state.h"

// For, and from, the member at that place: of trees those of its message.
static struct co_offload_blocks blocks_of(const struct co_proxy_group *group, uint32_t place)
{
    if (group->blocks != NULL) {
        return group->blocks[place];
    }
    if (group->trees == 0) {
        return co_offload_blocks_equal(group->send, group->receive, group->block_bytes, place);
    }
    uint32_t block = group->root == CO_PROXY_NOBODY ? place : 0;
    return (struct co_offload_blocks){group->send, group->block_bytes, group->receive + block * group->block_bytes,
                                      group->block_bytes};
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
    uint64_t one = command->bytes, all;
    group->send = command->send;
    group->receive = command->receive;
    group->block_bytes = command->bytes;
    if (__builtin_mul_overflow(one, (uint64_t)group->team->count, &all)) {
        return -EPROTO;
    }
    uint64_t sent = command->kind == CO_OFFLOAD_COMMAND_ALLTOALL ? all : one;
    uint64_t received = command->kind == CO_OFFLOAD_COMMAND_BCAST ? one : all;
    return range_is_good(command->send, sent) && range_is_good(command->receive, received) ? 0 : -EPROTO;
}

// The root of that one of its trees.
static uint32_t root_of(const struct co_proxy_group *group, uint32_t tree)
{
    return group->root == CO_PROXY_NOBODY ? tree : group->root;
}

static struct co_proxy_tree tree_of(const struct co_proxy_group *group, uint32_t tree)
{
    return co_proxy_tree_of(group->team->layout, root_of(group, tree), group->team->place);
}

static uint32_t ends_of_trees(const struct co_proxy_group *group)
{
    uint32_t ends = group->has_own ? 2 : 0;
    for (uint32_t i = 0; i < group->trees; i++) {
        struct co_proxy_tree tree = tree_of(group, i);
        ends += (tree.from != CO_PROXY_NOBODY) + (tree.to[0] != CO_PROXY_NOBODY) + (tree.to[1] != CO_PROXY_NOBODY);
    }
    return ends;
}

// What a call of that kind consists of; a root is that of a broadcast. -EPROTO, -ENOMEM.
static int group_shape(struct co_proxy *proxy, struct co_proxy_group *group, uint32_t kind, uint32_t root)
{
    struct co_proxy_team *team = group->team;

    group->root = CO_PROXY_NOBODY;
    if (kind == CO_OFFLOAD_COMMAND_BCAST) {
        if (root >= team->count) {
            return -EPROTO;
        }
        group->trees = 1;
        group->root = root;
    } else if (kind == CO_OFFLOAD_COMMAND_ALLGATHER || kind == CO_OFFLOAD_COMMAND_ALLGATHERV) {
        group->trees = team->count;
    }
    int error = group->trees > 0 ? co_proxy_team_lay_out(proxy, team) : 0;
    if (error == 0) {
        group->ends = group->trees > 0 ? ends_of_trees(group) : 2 * (team->count - !group->has_own);
    }
    return error;
}

// Of that team, with room for blocks where each has a length of its own. Used once.
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
    group->uses = 1;
    group->team = team;
    group->has_own = has_own;
    return group;
}

int co_proxy_pattern_define(struct co_proxy *proxy, struct co_proxy_rank *rank,
                            const struct co_offload_command *command, const uint8_t *definition, size_t bytes)
{
    bool has_blocks = command->kind == CO_OFFLOAD_COMMAND_ALLTOALLV || command->kind == CO_OFFLOAD_COMMAND_ALLGATHERV;
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
    group->count = kept;
    rank->operation_count += kept;
    proxy->counts.operations += kept;
    int error = has_blocks ? blocks_decode(group, definition) : equal_decode(group, command);
    if (error == 0) {
        error = group_shape(proxy, group, command->kind, command->root);
    }
    if (error == 0) {
        error = co_hash_map_put(&rank->groups, command->group, group);
    }
    if (error != 0) {
        co_proxy_group_release(proxy, rank, group);
    }
    return error == -EEXIST ? -EPROTO : error;
}

int co_proxy_pattern_make_empty(struct co_proxy *proxy, struct co_proxy_rank *rank,
                                const struct co_offload_command *refusal, struct co_proxy_group **out)
{
    struct co_proxy_team *team = co_hash_map_get(&rank->teams, refusal->team);
    if (team == NULL) {
        return -EPROTO;
    }
    struct co_proxy_group *group = group_make(team, false, false);
    if (group == NULL) {
        return -ENOMEM;
    }
    int error = group_shape(proxy, group, refusal->refused, refusal->root);
    if (error != 0) {
        co_proxy_group_release(proxy, rank, group);
        return error;
    }
    *out = group;
    return 0;
}

// One more end of the call: with the member at that place, in memory at that address. -ENOMEM.
static int end_add(struct co_proxy *proxy, struct co_proxy_call *call, bool is_send, uint32_t place, uint64_t number,
                   uint64_t address, uint64_t bytes)
{
    const struct co_proxy_team *team = call->group->team;
    struct co_proxy_end *end = &call->ends[call->end_count];
    uint32_t own = (uint32_t)call->rank, other = team->members[place]->node.key.from;

    end->call = call;
    end->place = place;
    end->is_send = is_send;
    end->is_length_known = is_send;
    end->address = address;
    end->bytes = bytes;
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

static int send_add(struct co_proxy *proxy, struct co_proxy_call *call, uint32_t place, uint32_t block, uint64_t number)
{
    struct co_offload_blocks blocks = blocks_of(call->group, block);
    return end_add(proxy, call, true, place, number, blocks.send_address, blocks.send_bytes);
}

static int receive_add(struct co_proxy *proxy, struct co_proxy_call *call, uint32_t place, uint32_t block,
                       uint64_t number)
{
    struct co_offload_blocks blocks = blocks_of(call->group, block);
    return end_add(proxy, call, false, place, number, blocks.receive_address, blocks.receive_bytes);
}

// A block of one record is with the kernel at once.
static enum co_proxy_turn turn_of(const struct co_proxy *proxy, const struct co_proxy_end *send)
{
    return proxy->config.sources > 0 && send->bytes > proxy->config.piece_bytes &&
                   !co_proxy_rank_is_ours(proxy, send->node.key.to)
               ? CO_PROXY_TURN_NONE
               : CO_PROXY_TURN_ALWAYS;
}

static int exchange_call(struct co_proxy *proxy, struct co_proxy_call *call)
{
    const struct co_proxy_team *team = call->group->team;
    int error = 0;

    for (uint32_t i = !call->group->has_own; i < team->count && error == 0; i++) {
        uint32_t from = co_offload_pattern_from(team->count, team->place, i);
        uint32_t to = co_offload_pattern_to(team->count, team->place, i);
        error = receive_add(proxy, call, from, from, call->number);
        struct co_proxy_end *send = &call->ends[call->end_count];
        error = error == 0 ? send_add(proxy, call, to, to, call->number) : error;
        send->turn = error == 0 ? turn_of(proxy, send) : CO_PROXY_TURN_ALWAYS;
    }
    return error;
}

// What is passed on leaves from where it has come to.
static int forward_add(struct co_proxy *proxy, struct co_proxy_call *call, struct co_proxy_end *receive, uint32_t place,
                       uint64_t number)
{
    struct co_proxy_end *send = &call->ends[call->end_count];
    int error = end_add(proxy, call, true, place, number, receive->address, receive->bytes);

    if (error == 0) {
        send->is_length_known = false;
        send->twin = receive;
        send->sibling = receive->twin;
        receive->twin = send;
    }
    return error;
}

static int tree_call(struct co_proxy *proxy, struct co_proxy_call *call, uint32_t index)
{
    struct co_proxy_tree tree = tree_of(call->group, index);
    uint32_t root = root_of(call->group, index), place = call->group->team->place;
    uint64_t number = call->number + index;
    struct co_proxy_end *receive = &call->ends[call->end_count];
    int error = 0;

    if (root == place && call->group->has_own) {
        error = receive_add(proxy, call, place, root, number);
        error = error == 0 ? send_add(proxy, call, place, root, number) : error;
    } else if (root != place) {
        error = receive_add(proxy, call, tree.from, root, number);
    }
    for (int i = 0; i < 2 && error == 0; i++) {
        if (tree.to[i] != CO_PROXY_NOBODY) {
            error = root == place ? send_add(proxy, call, tree.to[i], root, number)
                                  : forward_add(proxy, call, receive, tree.to[i], number);
        }
    }
    return error;
}

int co_proxy_pattern_call(struct co_proxy *proxy, struct co_proxy_call *call)
{
    struct co_proxy_team *team = call->group->team;
    uint32_t trees = call->group->trees;
    int error = 0;

    call->number = team->next;
    team->next += trees > 0 ? trees : 1;
    if (trees == 0) {
        return exchange_call(proxy, call);
    }
    for (uint32_t i = 0; i < trees && error == 0; i++) {
        error = tree_call(proxy, call, i);
    }
    return error;
}

// To those proxies from which something comes: of a tree's, that is the node before, if any.
static void called_say(struct co_proxy *proxy, const struct co_proxy_call *call)
{
    const struct co_proxy_team *team = call->group->team;
    uint32_t trees = call->group->trees, source = 0, sources = 0;

    if (trees == 0) {
        co_proxy_team_called(proxy, team, call->number + 1, team->peers, team->peer_count);
        return;
    }
    for (uint32_t i = 0; i < call->end_count && sources == 0; i++) {
        const struct co_proxy_end *end = &call->ends[i];
        if (!end->is_send && !co_proxy_rank_is_ours(proxy, end->node.key.from)) {
            source = (uint32_t)proxy->proxy_of_rank[end->node.key.from];
            sources = 1;
        }
    }
    co_proxy_team_called(proxy, team, call->number + trees, &source, sources);
}

void co_proxy_pattern_open(struct co_proxy *proxy, struct co_proxy_call *call)
{
    call->open = call->end_position = call->end_count;
    for (uint32_t i = 0; i < call->end_count; i++) {
        call->ends[i].state = CO_PROXY_END_OPEN;
    }
    for (uint32_t i = 0; i < call->end_count; i++) {
        struct co_proxy_end *end = &call->ends[i];
        if (end->state == CO_PROXY_END_OPEN && // a receive that fails takes along what would pass it on
            (!end->is_send || end->is_failed || !co_proxy_team_wait(call->group->team, end))) {
            co_proxy_end_open(proxy, end);
        }
    }
    called_say(proxy, call);
}
