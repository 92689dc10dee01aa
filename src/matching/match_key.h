// SPDX-License-Identifier: BSD-3-Clause
//
// What is compared when a message meets a receive, and the hash values of it. A sender may compute the hashes and carry
// them in the header. Pure, freestanding, hot.
#ifndef CASTOFF_MATCHING_MATCH_KEY_H
#define CASTOFF_MATCHING_MATCH_KEY_H

#include <stdbool.h>
#include <stdint.h>

// Wildcard of a receive, as its source or its tag. No rank and no tag has this value.
#define CO_MATCH_ANY INT32_MIN

// By what a receive can be found; each class has an index of its own (S2, section 3).
enum co_match_class { CO_MATCH_EXACT, CO_MATCH_ANY_SOURCE, CO_MATCH_ANY_TAG, CO_MATCH_ANY_BOTH, CO_MATCH_CLASSES };

// One for each class that hashes: over source and tag, over the tag, over the source.
#define CO_MATCH_HASHED 3

struct co_match_hashes {
    uint32_t of[CO_MATCH_HASHED];
};

static inline enum co_match_class co_match_class_of(int32_t source, int32_t tag)
{
    return (enum co_match_class)((source == CO_MATCH_ANY ? CO_MATCH_ANY_SOURCE : 0) |
                                 (tag == CO_MATCH_ANY ? CO_MATCH_ANY_TAG : 0));
}

// Full avalanche, so that any number of low bits can choose a bin (the finalizer of MurmurHash3).
static inline uint32_t co_match_mix(uint32_t word)
{
    word ^= word >> 16;
    word *= UINT32_C(0x85ebca6b);
    word ^= word >> 13;
    word *= UINT32_C(0xc2b2ae35);
    return word ^ word >> 16;
}

// Eight neighbours, such as tags that are counted up, have bins of one cache line: eight bins.
static inline uint32_t co_match_mix_near(uint32_t with, int32_t number)
{
    return co_match_mix(with + ((uint32_t)number >> 3)) ^ ((uint32_t)number & 7);
}

static inline uint32_t co_match_hash(enum co_match_class class, int32_t source, int32_t tag)
{
    switch (class) {
    case CO_MATCH_EXACT:
        return co_match_mix_near((uint32_t)source * UINT32_C(0x9e3779b1), tag);
    case CO_MATCH_ANY_SOURCE:
        return co_match_mix_near(0, tag);
    default:
        return co_match_mix_near(0, source);
    }
}

// Of a message.
static inline struct co_match_hashes co_match_hashes_of(int32_t source, int32_t tag)
{
    return (struct co_match_hashes){{co_match_hash(CO_MATCH_EXACT, source, tag),
                                     co_match_hash(CO_MATCH_ANY_SOURCE, source, tag),
                                     co_match_hash(CO_MATCH_ANY_TAG, source, tag)}};
}

// Negative tags are internal traffic: only a receive that names the tag gets it.
static inline bool co_match_fits(int32_t receive_source, int32_t receive_tag, int32_t source, int32_t tag)
{
    return (receive_source == source || receive_source == CO_MATCH_ANY) &&
           (receive_tag == tag || (receive_tag == CO_MATCH_ANY && tag >= 0));
}

#endif
