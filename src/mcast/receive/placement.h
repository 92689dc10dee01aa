// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Chunks to their place (placement.c).
#ifndef CASTOFF_MCAST_RECEIVE_PLACEMENT_H
#define CASTOFF_MCAST_RECEIVE_PLACEMENT_H

#include "mcast/state/endpoint.h"

// A chunk is decoded and its tag verified; `bytes` is its payload's size, which wire.c has checked.
void co_placement_copy(struct co_mcast_op *op, const struct co_receive_block *block, const struct co_chunk *chunk,
                       const uint8_t *payload, size_t bytes);
// Copies one of this block if it is new. True: it is.
bool co_placement_chunk(struct co_mcast_op *op, struct co_receive_block *block, const struct co_chunk *chunk,
                        const uint8_t *payload, size_t bytes);
// Likewise of a run, whose marks and duplicates the flow has; the copies are made.
void co_placement_run(struct co_mcast_op *op, int source, struct co_receive_block *block, const struct co_flow *flow,
                      struct co_placed_chunks placed);
// A first transmission has come, new or not: multicast comes here, whatever repairs brought meanwhile.
void co_placement_heard(struct co_mcast *mcast);
void co_placement_count(struct co_mcast *mcast); // in the counters, what has been placed since

#endif
