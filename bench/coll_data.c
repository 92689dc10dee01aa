// SPDX-License-Identifier: BSD-3-Clause
//
// Content of the benchmark's messages: eight bytes at a time from a multiplicative mix of seed and place, so that a
// byte from another rank, round or offset is wrong. Outside the timed parts.
#include "coll.h"

#include <string.h>

static uint64_t word_at(uint64_t seed, size_t index)
{
    uint64_t x = (seed + index) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

uint64_t coll_data_seed(uint64_t round, int rank)
{
    return (round * 65537 + (uint64_t)rank + 1) * UINT64_C(0xd6e8feb86659fd93);
}

uint64_t coll_data_seed_of_pair(uint64_t round, int from, int to)
{
    return coll_data_seed(coll_data_seed(round, from), to);
}

void coll_data_fill(uint8_t *bytes, size_t count, uint64_t seed)
{
    for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t word = word_at(seed, at / sizeof word);
        memcpy(bytes + at, &word, count - at < sizeof word ? count - at : sizeof word);
    }
}

size_t coll_data_wrong(const uint8_t *bytes, size_t count, uint64_t seed)
{
    size_t wrong = 0;
    for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t word = word_at(seed, at / sizeof word);
        wrong += memcmp(bytes + at, &word, count - at < sizeof word ? count - at : sizeof word) != 0;
    }
    return wrong;
}
