// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. The word that a block has left, so that who lacks its last chunks need not wait for silence
// (block_end.c). By the holder of the endpoint.
#ifndef CASTOFF_MCAST_SEND_BLOCK_END_H
#define CASTOFF_MCAST_SEND_BLOCK_END_H

#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/state/operation.h"

// The first chunk of the own block has left, which says of the block before that it has.
static inline void co_block_end_begins(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    uint64_t now_ns = group->mcast->now_ns;
    group->blocks_follow = now_ns - group->block_left_ns < group->mcast->config.cutoff_ns;
    if (group->end_kept != NULL) {
        group->end_kept->ends = 1;
        group->end_kept->end_said_ns = now_ns;
        group->end_kept = NULL;
    }
}

// It has yet to be said, or to be heard.
static inline bool co_block_end_is_watched(const struct co_mcast_op *op)
{
    const struct co_mcast_group *group = op->group;
    return group->end_kept == op || (op->ends > 0 && co_serial_before(group->window.heard, op->end_at));
}

// The operation ends.
static inline void co_block_end_forget(struct co_mcast_op *op)
{
    if (op->group->end_kept == op) {
        op->group->end_kept = NULL;
    }
}

void co_block_end_left(struct co_mcast_op *op); // the last one
void co_block_end_say(struct co_mcast_op *op);  // again, where the queue had no room
// Says what is due by now, of the oldest blocks whose last chunks somebody has not heard: for those the members wait.
// After what has come in was looked at, for the answer may be there. Leaves the next time in end_due_ns.
void co_block_ends_due(struct co_mcast_group *group);

#endif
