// SPDX-License-Identifier: BSD-3-Clause
//
// Searches over chunk bitmaps, a word at a time. Pure, warm (once a poll, not once a chunk).
#include "base/chunk_bitmap.h"

uint32_t co_chunk_bitmap_find(const uint64_t *words, uint32_t from, uint32_t limit, bool want)
{
    uint64_t flip = want ? 0 : ~UINT64_C(0);
    while (from < limit) {
        uint64_t word = (words[from / 64] ^ flip) >> (from % 64);
        if (word != 0) {
            uint32_t found = from + (uint32_t)__builtin_ctzll(word);
            return found < limit ? found : limit;
        }
        from = (from / 64 + 1) * 64;
    }
    return limit;
}

uint32_t co_chunk_bitmap_count_clear(const uint64_t *words, uint32_t from, uint32_t limit)
{
    uint32_t clear = 0;
    while (from < limit) {
        uint32_t end = (from / 64 + 1) * 64;
        uint32_t span = (end < limit ? end : limit) - from;
        uint64_t mask = span == 64 ? ~UINT64_C(0) : ((UINT64_C(1) << span) - 1) << (from % 64);
        clear += span - (uint32_t)__builtin_popcountll(words[from / 64] & mask);
        from += span;
    }
    return clear;
}
