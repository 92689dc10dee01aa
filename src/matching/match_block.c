// SPDX-License-Identifier: BSD-3-Clause
//
// Begin and end of a block of messages: what lanes have taken leaves the indexes, and messages without a receive enter
// the store in the order in which they came. Called with the communicator's lock. Hot.
#include "matching/match_lane.h"
#include "matching/matcher_state.h"

bool co_match_block_begin(struct co_match_block *block)
{
    struct co_matcher *matcher = block->matcher;
    if (matcher->posted.rest.count > 0) { // what is in the list has no descriptor to book
        for (unsigned i = 0; i < block->count; i++) {
            block->receives[i] = co_matcher_arrive(matcher, block->messages[i], &block->hashes[i]);
        }
        return false;
    }
    for (unsigned i = 0; i < block->count; i++) {
        block->lanes[i] = (struct co_match_lane){.stage = CO_LANE_SEARCHES};
    }
    return true;
}

void co_match_block_end(struct co_match_block *block)
{
    struct co_matcher *matcher = block->matcher;
    for (unsigned i = 0; i < block->count; i++) {
        uint32_t taken = block->lanes[i].taken, candidate = block->lanes[i].candidate;
        block->receives[i] = taken == 0 ? NULL : co_posted_at(&matcher->posted, taken)->node;
        if (candidate != 0) {
            co_store_relaxed(&co_posted_at(&matcher->posted, candidate)->booked, 0); // for the next block
        }
    }
    for (unsigned i = 0; i < block->count; i++) {
        matcher->paths[block->lanes[i].path]++;
        if (block->receives[i] == NULL) {
            co_matcher_store(matcher, block->messages[i], &block->hashes[i]);
            continue;
        }
        co_posted_remove(&matcher->posted, block->receives[i]);
        co_matcher_count_match(matcher, block->receives[i]);
    }
}
