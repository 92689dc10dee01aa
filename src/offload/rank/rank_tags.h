// SPDX-License-Identifier: BSD-3-Clause
//
// Which messages a rank has counted so far: its proxy keeps a number for each direction, rank, tag and space, for ever,
// and only so many. Who knows that beforehand is not hung up for one too many. Pure; one thread; one look-up for each
// end that is new to the caller.
#ifndef CASTOFF_OFFLOAD_RANK_RANK_TAGS_H
#define CASTOFF_OFFLOAD_RANK_RANK_TAGS_H

#include "base/hash_map.h"
#include "offload/offload_command.h"
#include "offload/offload_key.h"

struct co_rank_tags {
    struct co_hash_map maps[2 * CO_OFFLOAD_SPACES]; // direction and space; by rank and tag: since which addition
    uint32_t count, most;
    uintptr_t additions;
};

void co_rank_tags_open(struct co_rank_tags *tags, uint32_t most);
void co_rank_tags_close(struct co_rank_tags *tags);
// Those of encoded operations. -ENOSPC, -ENOMEM: nothing has changed.
int co_rank_tags_add(struct co_rank_tags *tags, enum co_offload_space space, const uint8_t *operations, uint32_t count);

#endif
