// SPDX-License-Identifier: BSD-3-Clause
//
// Lanes of the matcher by threads (S2, section 4; matching/match_lane.h): whoever brings a batch runs lanes beside the
// threads that are awake, and never waits for one that sleeps.
#ifndef CASTOFF_P2P_LANES_H
#define CASTOFF_P2P_LANES_H

#include "matching/match_lane.h"

struct co_lanes;

// So many lanes, 2 to CO_MATCH_LANES_MAX, the caller's included; its threads start with the first batch. NULL: out of
// memory.
struct co_lanes *co_lanes_open(unsigned lanes);
// No batch runs.
void co_lanes_close(struct co_lanes *lanes);
unsigned co_lanes_count(const struct co_lanes *lanes);
// Matches a batch of which matcher, count, messages and hashes are set, count at most the lanes. One caller at a time.
void co_lanes_match(struct co_lanes *lanes, struct co_match_batch *batch);

#endif
