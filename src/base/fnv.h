// SPDX-License-Identifier: BSD-3-Clause
//
// FNV-1a, the hash of names and texts: by it ranks, files and outputs are compared. Not for secrets, and no guard
// against forgers. What ranks and files have of it must not change. Header only; any thread.
#ifndef CASTOFF_BASE_FNV_H
#define CASTOFF_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define CO_FNV_64 UINT64_C(0xcbf29ce484222325) // of nothing
#define CO_FNV_32 UINT32_C(0x811c9dc5)

static inline uint64_t co_fnv_64_byte(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

// Goes on from `hash`, which begins as CO_FNV_64.
static inline uint64_t co_fnv_64(uint64_t hash, const void *bytes, size_t count)
{
    for (const uint8_t *byte = bytes; count > 0; count--, byte++) {
        hash = co_fnv_64_byte(hash, *byte);
    }
    return hash;
}

static inline uint32_t co_fnv_32(uint32_t hash, const void *bytes, size_t count)
{
    for (const uint8_t *byte = bytes; count > 0; count--, byte++) {
        hash = (hash ^ *byte) * UINT32_C(0x1000193);
    }
    return hash;
}

#endif
