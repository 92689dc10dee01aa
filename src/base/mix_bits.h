// SPDX-License-Identifier: BSD-3-Clause
//
// Spreads a number over all 64 bits, so that small or similar ones come out far apart (the finalizer of SplitMix64).
// Not for secrets. Hot; header only; any thread.
#ifndef CASTOFF_BASE_MIX_BITS_H
#define CASTOFF_BASE_MIX_BITS_H

#include <stdint.h>

// One to one; 0 stays 0.
static inline uint64_t co_mix_bits(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

// The same for a table whose cells are the low bits, in half the time and to 32 bits. One multiplication alone is not
// enough: addresses at equal distances, such as those of objects of one size, crowd then at some distances.
static inline uint64_t co_mix_bits_fast(uint64_t x)
{
    x *= UINT64_C(0x9E3779B97F4A7C15);
    return (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93) >> 32;
}

#endif
