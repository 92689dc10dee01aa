// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Chunks that came before their operation (early_chunks.c).
#ifndef CASTOFF_MCAST_RECEIVE_EARLY_CHUNKS_H
#define CASTOFF_MCAST_RECEIVE_EARLY_CHUNKS_H

#include "mcast/wire/wire.h"

struct co_early_chunk {
    struct co_early_chunk *next, *next_in_chain;
    struct co_mcast_group *group;
    struct co_chunk chunk;
    size_t bytes;
    uint8_t payload[];
};

// A copy in staging; dropped when that is full. False: it was kept before, or there is no room, and it says nothing of
// its source.
bool co_early_keep(struct co_mcast_group *group, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
// All that was kept of that operation, in the order in which it came; each is to be given back.
struct co_early_chunk *co_early_take(struct co_mcast_group *group, uint32_t operation);
void co_early_give(struct co_early_chunk *early);
void co_early_drop_all(struct co_mcast_group *group);

#endif
