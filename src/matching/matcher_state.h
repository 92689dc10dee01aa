// SPDX-License-Identifier: BSD-3-Clause
//
// What a matcher consists of. Private to src/matching.
#ifndef CASTOFF_MATCHING_MATCHER_STATE_H
#define CASTOFF_MATCHING_MATCHER_STATE_H

#include "base/atomics.h"
#include "matching/match_lane.h"
#include "matching/unexpected.h"

struct co_matcher {
    struct co_posted posted;
    struct co_unexpected unexpected;
    uint32_t receives_high, messages_high;
    uint64_t matches[CO_MATCH_CLASSES];
    uint64_t came_early;
    uint64_t paths[CO_PATHS]; // lanes by how they came to their receive
};

void co_matcher_count_match(struct co_matcher *matcher, const struct co_match_node *receive);
// A message for which there is no receive.
void co_matcher_store(struct co_matcher *matcher, struct co_match_node *message, const struct co_match_hashes *hashes);

#endif
