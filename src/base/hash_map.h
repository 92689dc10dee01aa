// SPDX-License-Identifier: BSD-3-Clause
//
// Map from 64-bit keys to pointers: open addressing with linear probing, removal without tombstones. It grows by
// itself at put, never at get. One thread at a time (readers too: put may move everything). Get is hot.
#ifndef CASTOFF_BASE_HASH_MAP_H
#define CASTOFF_BASE_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct co_hash_slot {
    uint64_t key;
    void *value; // NULL: the slot is free
};

struct co_hash_map {
    struct co_hash_slot *slots;
    size_t slot_count; // a power of 2, or 0 before the first put
    size_t count;
};

// Takes no memory: maps that stay empty cost nothing.
void co_hash_map_open(struct co_hash_map *map);
// The values are the caller's business; _free: they are of malloc, and freed.
void co_hash_map_close(struct co_hash_map *map);
void co_hash_map_close_free(struct co_hash_map *map);

// Any key; `value` must not be NULL. -EEXIST: the key is there, nothing has changed. -ENOMEM, likewise.
int co_hash_map_put(struct co_hash_map *map, uint64_t key, void *value);
// NULL: not there.
void *co_hash_map_get(const struct co_hash_map *map, uint64_t key);
// Returns what was there, or NULL.
void *co_hash_map_remove(struct co_hash_map *map, uint64_t key);

// Visits all entries in no order: start with *position = 0; NULL at the end. The map must not change meanwhile. `key`
// may be NULL.
void *co_hash_map_next(const struct co_hash_map *map, size_t *position, uint64_t *key);

#endif
