// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Chunks to their place, or to staging (deliver.c).
#ifndef CASTOFF_MCAST_RECEIVE_DELIVER_H
#define CASTOFF_MCAST_RECEIVE_DELIVER_H

#include "mcast/endpoint.h"

// A chunk is decoded and its tag verified; `bytes` is its payload's size, which wire.c has checked.
void co_deliver_copy(struct co_mcast_op *op, const struct co_receive_block *block, const struct co_chunk *chunk,
                     const uint8_t *payload, size_t bytes);
// Copies it if it is new, whatever its kind, and draws all conclusions; one of another shape fails the operation. True:
// it is new; of a contribution never.
bool co_deliver_chunk(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
// What co_deliver_chunk concludes, of a run: the flow has the marks and duplicates of `taken` chunks.
void co_deliver_conclude(struct co_mcast_op *op, int source, const struct co_flow *flow, struct co_placed_chunks placed,
                         unsigned taken);
void co_deliver_count(struct co_mcast *mcast); // in the counters, what has been placed since
// Of an operation that has not begun: a copy in staging; dropped when that is full.
// False: it was kept before, or there is no room, and it says nothing of its source.
bool co_early_keep(struct co_mcast_group *group, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
void co_early_replay(struct co_mcast_op *op); // places what was kept for it
void co_early_drop_all(struct co_mcast_group *group);

#endif
