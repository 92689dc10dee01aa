// SPDX-License-Identifier: BSD-3-Clause
//
// Seeds: made and freed with communicators, thousands of them, most of which never say a word between hosts. Warm; the
// look-up is hot.
#include "mcast/state/seed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"

// Of the map for one seed, at most: it doubles when it is three quarters full.
#define CELL_BYTES (sizeof(struct co_hash_slot) * 8 / 3)

struct co_mcast_seed *co_seed_find(const struct co_mcast *mcast, uint32_t wire_team)
{
    return co_hash_map_get(&mcast->seeds, wire_team);
}

// Seeds that share the low half of the id hang on the first one, which alone stands in the map.
static int enter(struct co_mcast *mcast, struct co_mcast_seed *seed)
{
    struct co_mcast_seed *first = co_seed_find(mcast, (uint32_t)seed->team_id);
    if (first == NULL) {
        return co_hash_map_put(&mcast->seeds, (uint32_t)seed->team_id, seed);
    }
    seed->next_alike = first->next_alike;
    first->next_alike = seed;
    return 0;
}

static void leave(struct co_mcast *mcast, struct co_mcast_seed *seed)
{
    uint32_t key = (uint32_t)seed->team_id;
    struct co_mcast_seed *first = co_seed_find(mcast, key);
    if (first != seed) {
        while (first->next_alike != seed) {
            first = first->next_alike;
        }
        first->next_alike = seed->next_alike;
        return;
    }
    co_hash_map_remove(&mcast->seeds, key);
    if (seed->next_alike != NULL) {
        co_hash_map_put(&mcast->seeds, key, seed->next_alike); // into the room just made
    }
}

static bool are_even(const int *members, int count)
{
    for (int i = 2; i < count; i++) {
        if (members[i] - members[i - 1] != members[1] - members[0]) {
            return false;
        }
    }
    return true;
}

static size_t ranks_kept(const struct co_mcast_seed *seed)
{
    return seed->is_even ? 2 : seed->count;
}

int co_mcast_seed_open(struct co_mcast_seed **out, struct co_mcast *mcast, uint64_t team_id, const int *members,
                       int count, int self)
{
    bool is_valid =
        count >= 1 && count <= UINT16_MAX && self >= 0 && self < count && members[self] == mcast->config.world_rank;
    for (int i = 0; is_valid && i < count; i++) {
        is_valid = members[i] >= 0 && members[i] < mcast->config.world_size;
    }
    if (!is_valid) {
        return -EINVAL;
    }
    for (unsigned i = 0; i < mcast->config.subgroups; i++) {
        int status = mcast->transport->ops->join(mcast->transport, i);
        if (status < 0) {
            return status;
        }
    }
    bool is_even = are_even(members, count);
    struct co_mcast_seed *seed = calloc(1, sizeof(*seed) + (is_even ? 2 : (size_t)count) * sizeof(seed->ranks[0]));
    if (seed == NULL) {
        return -ENOMEM;
    }
    seed->team_id = team_id;
    seed->count = (uint16_t)count;
    seed->is_even = is_even;
    for (int i = 0; i < (is_even ? 1 : count); i++) {
        seed->ranks[i] = (uint16_t)members[i];
    }
    if (is_even) {
        seed->ranks[1] = count > 1 ? (uint16_t)(members[1] - members[0]) : 0;
    }
    int status = enter(mcast, seed);
    if (status < 0) {
        free(seed);
        return status;
    }
    *out = seed;
    return 0;
}

size_t co_mcast_seed_bytes(const struct co_mcast_seed *seed)
{
    return sizeof(*seed) + ranks_kept(seed) * sizeof(seed->ranks[0]) + CELL_BYTES;
}

void co_seed_free(struct co_mcast *mcast, struct co_mcast_seed *seed)
{
    leave(mcast, seed);
    free(seed);
}

struct co_mcast_group *co_seed_group(struct co_mcast *mcast, struct co_mcast_seed *seed)
{
    if (seed->group != NULL) {
        return seed->group;
    }
    if (seed->broken != 0 || co_group_open(mcast, seed) < 0) {
        co_counter_add(CO_COUNT_DROP_NO_MEMORY, 1);
        return NULL;
    }
    co_counter_add(CO_COUNT_OPENED_BY_OTHERS, 1);
    return seed->group;
}
