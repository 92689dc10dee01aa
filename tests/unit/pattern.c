// SPDX-License-Identifier: BSD-3-Clause
//
// Eight bytes at a time: of bytes one by one the sanitizers do little else than look at them.
#include "pattern.h"

#include <string.h>

#include "base/mix_bits.h"

static uint64_t word_at(uint64_t seed, size_t at)
{
    return co_mix_bits(co_mix_bits(seed + 1) + at);
}

void pattern_fill(void *data, size_t bytes, uint64_t seed)
{
    unsigned char *to = data;
    size_t at = 0;

    for (; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
        uint64_t word = word_at(seed, at);
        memcpy(to + at, &word, sizeof word);
    }
    uint64_t last = word_at(seed, at);
    for (size_t i = 0; at + i < bytes; i++) {
        to[at + i] = (unsigned char)(last >> 8 * i);
    }
}

bool pattern_matches(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *from = data;
    size_t at = 0;
    bool is_alike = true;

    for (; at + sizeof(uint64_t) <= bytes && is_alike; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from + at, sizeof word);
        is_alike = word == word_at(seed, at);
    }
    uint64_t last = word_at(seed, at);
    for (size_t i = 0; is_alike && at + i < bytes; i++) {
        is_alike = from[at + i] == (unsigned char)(last >> 8 * i);
    }
    return is_alike;
}
