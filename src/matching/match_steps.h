// SPDX-License-Identifier: BSD-3-Clause
//
// Marked points between accesses to what lanes share. Nothing in the library; a test that defines CO_MATCH_STEPS runs
// one lane at a time from point to point in an order it can repeat. CO_MATCH_MUTANT builds a known-wrong variant.
#ifndef CASTOFF_MATCHING_MATCH_STEPS_H
#define CASTOFF_MATCHING_MATCH_STEPS_H

#ifndef CO_MATCH_MUTANT
#define CO_MATCH_MUTANT 0
#endif

#ifdef CO_MATCH_STEPS
struct co_match_block;
void co_match_step(struct co_match_block *block, unsigned lane);
#define CO_MATCH_STEP(block, lane) co_match_step((block), (lane))
#else
#define CO_MATCH_STEP(block, lane) ((void)(block), (void)(lane))
#endif

#endif
