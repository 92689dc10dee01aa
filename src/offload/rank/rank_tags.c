// SPDX-License-Identifier: BSD-3-Clause
//
// Tags of a rank; see the header.
#include "offload/rank/rank_tags.h"

#include <errno.h>
#include <stdbool.h>

void co_rank_tags_open(struct co_rank_tags *tags, uint32_t most)
{
    *tags = (struct co_rank_tags){.most = most};
    for (int i = 0; i < 2 * CO_OFFLOAD_SPACES; i++) {
        co_hash_map_open(&tags->maps[i]);
    }
}

void co_rank_tags_close(struct co_rank_tags *tags)
{
    for (int i = 0; i < 2 * CO_OFFLOAD_SPACES; i++) {
        co_hash_map_close(&tags->maps[i]);
    }
}

static int tag_add(struct co_rank_tags *tags, struct co_hash_map *map, uint64_t key)
{
    if (co_hash_map_get(map, key) != NULL) {
        return 0;
    }
    if (tags->count == tags->most) {
        return -ENOSPC;
    }
    // That of this addition, so that it can be taken back. NOLINTNEXTLINE(performance-no-int-to-ptr)
    int error = co_hash_map_put(map, key, (void *)tags->additions);
    tags->count += error == 0;
    return error;
}

static void tag_take_back(struct co_rank_tags *tags, struct co_hash_map *map, uint64_t key)
{
    if ((uintptr_t)co_hash_map_get(map, key) == tags->additions) {
        co_hash_map_remove(map, key);
        tags->count--;
    }
}

static int operation_visit(struct co_rank_tags *tags, enum co_offload_space space, const uint8_t *bytes,
                           bool is_taken_back)
{
    struct co_offload_operation operation;
    int error = co_offload_operation_decode(&operation, bytes, UINT32_MAX);
    bool has[] = {operation.kind == CO_OFFLOAD_OPERATION_SEND || operation.kind == CO_OFFLOAD_OPERATION_FORWARD,
                  operation.kind == CO_OFFLOAD_OPERATION_RECEIVE || operation.kind == CO_OFFLOAD_OPERATION_FORWARD};
    const uint64_t keys[] = {(uint64_t)operation.to << 32 | operation.to_tag,
                             (uint64_t)operation.from << 32 | operation.from_tag};

    for (int i = 0; i < 2 && error == 0; i++) {
        struct co_hash_map *map = &tags->maps[i * CO_OFFLOAD_SPACES + space];
        if (has[i] && is_taken_back) {
            tag_take_back(tags, map, keys[i]);
        } else if (has[i]) {
            error = tag_add(tags, map, keys[i]);
        }
    }
    return error;
}

int co_rank_tags_add(struct co_rank_tags *tags, enum co_offload_space space, const uint8_t *operations, uint32_t count)
{
    int error = 0;

    tags->additions++; // never 0
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = operation_visit(tags, space, operations + (size_t)i * CO_OFFLOAD_OPERATION_BYTES, false);
    }
    for (uint32_t i = 0; i < count && error != 0; i++) {
        operation_visit(tags, space, operations + (size_t)i * CO_OFFLOAD_OPERATION_BYTES, true);
    }
    return error;
}
