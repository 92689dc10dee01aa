// SPDX-License-Identifier: BSD-3-Clause
//
// Begin and end of a batch of messages: what lanes have taken leaves the indexes, and messages without a receive enter
// the store in the order in which they came. Called with the communicator's lock. Hot.
#include "matching/match_lane.h"
#include "matching/matcher_state.h"

bool co_match_batch_begin(struct co_match_batch *batch)
{
    struct co_matcher *matcher = batch->matcher;
    if (matcher->posted.rest.count > 0) { // what is in the list has no descriptor to book
        for (unsigned i = 0; i < batch->count; i++) {
            batch->receives[i] = co_matcher_arrive(matcher, batch->messages[i], &batch->hashes[i]);
        }
        return false;
    }
    for (unsigned i = 0; i < batch->count; i++) {
        batch->lanes[i] = (struct co_match_lane){.stage = CO_LANE_SEARCHES};
    }
    return true;
}

void co_match_batch_end(struct co_match_batch *batch)
{
    struct co_matcher *matcher = batch->matcher;
    for (unsigned i = 0; i < batch->count; i++) {
        uint32_t taken = batch->lanes[i].taken, candidate = batch->lanes[i].candidate;
        batch->receives[i] = taken == 0 ? NULL : co_posted_at(&matcher->posted, taken)->node;
        if (candidate != 0) {
            co_store_relaxed(&co_posted_at(&matcher->posted, candidate)->booked, 0); // for the next batch
        }
    }
    for (unsigned i = 0; i < batch->count; i++) {
        matcher->paths[batch->lanes[i].path]++;
        if (batch->receives[i] == NULL) {
            co_matcher_store(matcher, batch->messages[i], &batch->hashes[i]);
            continue;
        }
        co_posted_remove(&matcher->posted, batch->receives[i]);
        co_matcher_count_match(matcher, batch->receives[i]);
    }
}
