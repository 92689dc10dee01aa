// SPDX-License-Identifier: BSD-3-Clause
//
// Marked points between accesses to what lanes share. Nothing in the library; a test that defines CO_MATCH_STEPS runs
// one lane at a time from point to point in an order it can repeat. CO_MATCH_MUTANT builds a known-wrong variant.
#ifndef CASTOFF_MATCHING_MATCH_STEPS_H
#define CASTOFF_MATCHING_MATCH_STEPS_H

#ifndef CO_MATCH_MUTANT
#define CO_MATCH_MUTANT 0
#endif

// What the analyzer of traces wants to know, in its own build of the matcher; nothing in the library. One thread's.
#ifdef CO_MATCH_COUNTS
#include <stdint.h>
struct co_match_counts {
    uint64_t walked;                    // entries that searches looked at
    uint64_t collisions;                // receives that entered a bin with another one in it
    uint64_t bins_filled, bins_emptied; // bins of receives without a wildcard
};
extern _Thread_local struct co_match_counts co_match_counts;
#define CO_MATCH_COUNT(what) ((void)co_match_counts.what++)
#define CO_MATCH_COUNT_IF(condition, what) ((void)(co_match_counts.what += (condition) ? 1 : 0))
#else
#define CO_MATCH_COUNT(what) ((void)0)
#define CO_MATCH_COUNT_IF(condition, what) ((void)0)
#endif

#ifdef CO_MATCH_STEPS
struct co_match_batch;
void co_match_step(struct co_match_batch *batch, unsigned lane);
#define CO_MATCH_STEP(batch, lane) co_match_step((batch), (lane))
#else
#define CO_MATCH_STEP(batch, lane) ((void)(batch), (void)(lane))
#endif

#endif
