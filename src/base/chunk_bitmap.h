// SPDX-License-Identifier: BSD-3-Clause
//
// Bitmaps with one bit for each chunk: which have arrived, which a neighbour wants. Storage belongs to the caller.
// Pure, hot; one thread at a time.
#ifndef CASTOFF_BASE_CHUNK_BITMAP_H
#define CASTOFF_BASE_CHUNK_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t co_chunk_bitmap_words(uint32_t bits)
{
    return ((size_t)bits + 63) / 64;
}

static inline bool co_chunk_bitmap_has(const uint64_t *words, uint32_t bit)
{
    return (words[bit / 64] >> (bit % 64)) & 1;
}

// Sets the bit; true when it was clear before.
static inline bool co_chunk_bitmap_set(uint64_t *words, uint32_t bit)
{
    uint64_t mask = UINT64_C(1) << (bit % 64);
    bool is_new = !(words[bit / 64] & mask);
    words[bit / 64] |= mask;
    return is_new;
}

static inline void co_chunk_bitmap_clear(uint64_t *words, uint32_t bit)
{
    words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

// First clear bit (want false) or set bit (want true) in [from, limit), or limit.
uint32_t co_chunk_bitmap_find(const uint64_t *words, uint32_t from, uint32_t limit, bool want);

// Clear bits in [from, limit).
uint32_t co_chunk_bitmap_count_clear(const uint64_t *words, uint32_t from, uint32_t limit);

#endif
