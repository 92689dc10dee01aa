// SPDX-License-Identifier: BSD-3-Clause
//
// Unsigned little-endian numbers of records and commands, written and read byte by byte. Hot; header only; pure.
#ifndef CASTOFF_OFFLOAD_LITTLE_ENDIAN_H
#define CASTOFF_OFFLOAD_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>

static inline void co_little_endian_put(uint8_t *to, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(number >> 8 * i);
    }
}

static inline uint64_t co_little_endian_get(const uint8_t *from, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;) {
        number = number << 8 | from[i];
    }
    return number;
}

#endif
