// SPDX-License-Identifier: BSD-3-Clause
//
// Open addressing hash map; see the header for the contract. One thread at a time. Get is hot.
#include "base/hash_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/mix_bits.h"

enum { SLOTS_FIRST = 16 };

// Keys are often small numbers or addresses.
static size_t home_of(const struct co_hash_map *map, uint64_t key)
{
    return (size_t)co_mix_bits(key) & (map->slot_count - 1);
}

// The slot that holds the key, or the free one where it belongs. There is always a free one.
static size_t find(const struct co_hash_map *map, uint64_t key)
{
    size_t slot = home_of(map, key);

    while (map->slots[slot].value && map->slots[slot].key != key) {
        slot = (slot + 1) & (map->slot_count - 1);
    }
    return slot;
}

static int grow(struct co_hash_map *map)
{
    struct co_hash_map larger = {.slot_count = map->slot_count ? 2 * map->slot_count : SLOTS_FIRST};

    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].value) {
            larger.slots[find(&larger, map->slots[i].key)] = map->slots[i];
        }
    }
    larger.count = map->count;
    free(map->slots);
    *map = larger;
    return 0;
}

void co_hash_map_open(struct co_hash_map *map)
{
    *map = (struct co_hash_map){.slots = NULL};
}

void co_hash_map_close(struct co_hash_map *map)
{
    free(map->slots);
    co_hash_map_open(map);
}

int co_hash_map_put(struct co_hash_map *map, uint64_t key, void *value)
{
    assert(value);
    if (co_hash_map_get(map, key)) {
        return -EEXIST;
    }
    // At most three quarters full: probes stay short, and a free slot ends every search.
    if (4 * (map->count + 1) > 3 * map->slot_count) {
        int result = grow(map);
        if (result != 0) {
            return result;
        }
    }
    map->slots[find(map, key)] = (struct co_hash_slot){key, value};
    map->count++;
    return 0;
}

void *co_hash_map_get(const struct co_hash_map *map, uint64_t key)
{
    return map->count ? map->slots[find(map, key)].value : NULL;
}

void *co_hash_map_remove(struct co_hash_map *map, uint64_t key)
{
    size_t mask = map->slot_count - 1, hole;
    void *value;

    if (map->count == 0) {
        return NULL;
    }
    hole = find(map, key);
    value = map->slots[hole].value;
    if (!value) {
        return NULL;
    }
    // Entries behind the hole that could not stand nearer to their home move up, or searches would end too early.
    for (size_t slot = (hole + 1) & mask; map->slots[slot].value; slot = (slot + 1) & mask) {
        size_t home = home_of(map, map->slots[slot].key);
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            map->slots[hole] = map->slots[slot];
            hole = slot;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
    return value;
}

void *co_hash_map_next(const struct co_hash_map *map, size_t *position, uint64_t *key)
{
    while (*position < map->slot_count) {
        const struct co_hash_slot *slot = &map->slots[(*position)++];
        if (slot->value) {
            if (key) {
                *key = slot->key;
            }
            return slot->value;
        }
    }
    return NULL;
}

void co_hash_map_close_free(struct co_hash_map *map)
{
    size_t position = 0;
    void *value;

    while ((value = co_hash_map_next(map, &position, NULL)) != NULL) {
        free(value);
    }
    co_hash_map_close(map);
}
