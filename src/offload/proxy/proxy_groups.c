// SPDX-License-Identifier: BSD-3-Clause
//
// Groups that a rank has recorded, kept until it says FORGET, so that calling one again is one command. A definition
// says what is to be moved and never that it may be: each call has numbers, and a READY, of its own. Called by
// proxy_core.c; cold, but for find.
#include <errno.h>
#include <stdlib.h>

#include "offload/proxy/proxy_state.h"

// The rank itself counts as any other peer.
static int operations_decode(struct co_proxy *proxy, struct co_proxy_group *group, const uint8_t *definition)
{
    for (uint32_t i = 0; i < group->count; i++) {
        struct co_offload_operation *operation = &group->operations[i];
        if (co_offload_operation_decode(operation, definition + (size_t)i * CO_OFFLOAD_OPERATION_BYTES,
                                        (uint32_t)proxy->config.ranks) != 0) {
            return -EPROTO;
        }
        group->ends +=
            operation->kind == CO_OFFLOAD_OPERATION_FORWARD ? 2 : operation->kind != CO_OFFLOAD_OPERATION_BARRIER;
    }
    return 0;
}

int co_proxy_group_define(struct co_proxy *proxy, struct co_proxy_rank *rank, const struct co_offload_command *command,
                          const uint8_t *definition, size_t bytes)
{
    if (bytes != (size_t)command->operations * CO_OFFLOAD_OPERATION_BYTES) {
        return -EPROTO;
    }
    if (rank->groups.count >= proxy->config.groups_max || rank->operation_count > CO_OFFLOAD_OPERATIONS_KEPT ||
        command->operations > CO_OFFLOAD_OPERATIONS_KEPT - rank->operation_count) {
        return -ENOSPC;
    }
    struct co_proxy_group *group =
        calloc(1, sizeof *group + (size_t)command->operations * sizeof(struct co_offload_operation));
    if (group == NULL) {
        return -ENOMEM;
    }
    group->uses = 1;
    group->count = command->operations;
    proxy->counts.operations += group->count;
    int error = operations_decode(proxy, group, definition);
    if (error == 0) {
        error = co_hash_map_put(&rank->groups, command->group, group);
    }
    if (error != 0) {
        free(group);
    } else {
        rank->operation_count += group->count;
    }
    return error == -EEXIST ? -EPROTO : error;
}

struct co_proxy_group *co_proxy_group_find(const struct co_proxy_rank *rank, uint64_t number)
{
    return co_hash_map_get(&rank->groups, number);
}

void co_proxy_group_release(struct co_proxy *proxy, struct co_proxy_rank *rank, struct co_proxy_group *group)
{
    if (--group->uses == 0) {
        rank->operation_count -= group->count;
        if (group->team != NULL) {
            co_proxy_team_release(proxy, rank, group->team);
        }
        free(group->blocks);
        free(group);
    }
}

int co_proxy_group_forget(struct co_proxy *proxy, struct co_proxy_rank *rank, uint64_t number)
{
    struct co_proxy_group *group = co_hash_map_remove(&rank->groups, number);
    if (group == NULL) {
        return -EPROTO;
    }
    co_proxy_group_release(proxy, rank, group);
    return 0;
}

void co_proxy_groups_close(struct co_proxy *proxy, struct co_proxy_rank *rank)
{
    size_t position = 0;
    struct co_proxy_group *group;
    while ((group = co_hash_map_next(&rank->groups, &position, NULL)) != NULL) {
        co_proxy_group_release(proxy, rank, group);
    }
    co_hash_map_close(&rank->groups);
}
