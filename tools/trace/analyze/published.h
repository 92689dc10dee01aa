// SPDX-License-Identifier: BSD-3-Clause
//
// The depth of bins as published (S2, figure 7): no matching, but how many receives are outstanding in one bin. A
// non-blocking receive is in its bin (8-bit Pearson hash of source, tag and communicator, 12 bytes, little-endian,
// wildcards as 0, the world as 2; modulo the number of bins) from its post until the wait that completes it; the depth
// is that of the fullest bin less one. At a progress point (a wait, or a test that found something) counts the largest
// depth since the last one: `average` is the largest over points of the mean over ranks, `largest` the largest of all.
// Ranks advance together, point by point, so no more than their bins is in memory. One thread.
#ifndef CASTOFF_TOOLS_TRACE_ANALYZE_PUBLISHED_H
#define CASTOFF_TOOLS_TRACE_ANALYZE_PUBLISHED_H

#include "tools/trace/events/event_file.h"

struct co_published_depth {
    uint32_t bins;
    double average;
    uint32_t largest;
};

// Of a receive with such numbers, wildcards and all.
uint8_t co_published_hash(int32_t source, int32_t tag, uint32_t comm);

// Sets average and largest of each element by its bins (at least 1). The readers stand at the beginning. 0 or -ENOMEM.
int co_published_depths(struct co_event_reader *ranks, size_t rank_count, struct co_published_depth *depths,
                        size_t depth_count);

#endif
