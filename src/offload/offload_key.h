// SPDX-License-Identifier: BSD-3-Clause
//
// Which message: the k-th one from a rank to a rank with a tag, or that of a team's k-th collective call. Both ends
// count by their own calls alone, in the order of the program, so the k-th send meets the k-th receive without a word
// between them. Numbers only grow. Pure; header only.
#ifndef CASTOFF_OFFLOAD_OFFLOAD_KEY_H
#define CASTOFF_OFFLOAD_OFFLOAD_KEY_H

#include <stdbool.h>
#include <stdint.h>

// Operations of recorded groups and basic ones are counted apart, for each tag; collective calls for each team.
enum co_offload_space { CO_OFFLOAD_BASIC, CO_OFFLOAD_GROUP, CO_OFFLOAD_SPACES, CO_OFFLOAD_TEAM = CO_OFFLOAD_SPACES };

struct co_offload_key {
    uint32_t from, to; // ranks of the job
    uint64_t tag;      // 32 bits; of TEAM its team
    uint32_t space;    // enum co_offload_space
    uint64_t number;
};

static inline bool co_offload_key_equals(const struct co_offload_key *a, const struct co_offload_key *b)
{
    return a->from == b->from && a->to == b->to && a->tag == b->tag && a->space == b->space && a->number == b->number;
}

#endif
