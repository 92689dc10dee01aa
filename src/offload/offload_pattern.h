// SPDX-License-Identifier: BSD-3-Clause
//
// Patterns: calls that need no list of operations, for from how many members there are and one's own place among them
// follows what is sent to whom. In an all-to-all each member begins with the one behind it, so that at any moment all
// of them send to different ones; place 0 is the own block. And what a rank says of a team and of the blocks of such a
// call (docs/wire-format.md): layout in one place. Pure; header only.
#ifndef CASTOFF_OFFLOAD_OFFLOAD_PATTERN_H
#define CASTOFF_OFFLOAD_OFFLOAD_PATTERN_H

#include "offload/little_endian.h"

#define CO_OFFLOAD_MEMBER_BYTES 4
#define CO_OFFLOAD_BLOCKS_BYTES 32

// Whom member `me` of `members` sends its `i`-th block, and from whom its `i`-th one comes.
static inline uint32_t co_offload_pattern_to(uint32_t members, uint32_t me, uint32_t i)
{
    return (uint32_t)(((uint64_t)me + i) % members);
}

static inline uint32_t co_offload_pattern_from(uint32_t members, uint32_t me, uint32_t i)
{
    return (uint32_t)(((uint64_t)me + members - i) % members);
}

// What there is for a member, and room for what it has, in the rank's memory.
struct co_offload_blocks {
    uint64_t send_address, send_bytes;
    uint64_t receive_address, receive_bytes;
};

static inline void co_offload_blocks_encode(uint8_t out[CO_OFFLOAD_BLOCKS_BYTES],
                                            const struct co_offload_blocks *blocks)
{
    co_little_endian_put(out, blocks->send_address, 8);
    co_little_endian_put(out + 8, blocks->send_bytes, 8);
    co_little_endian_put(out + 16, blocks->receive_address, 8);
    co_little_endian_put(out + 24, blocks->receive_bytes, 8);
}

static inline struct co_offload_blocks co_offload_blocks_decode(const uint8_t bytes[CO_OFFLOAD_BLOCKS_BYTES])
{
    return (struct co_offload_blocks){.send_address = co_little_endian_get(bytes, 8),
                                      .send_bytes = co_little_endian_get(bytes + 8, 8),
                                      .receive_address = co_little_endian_get(bytes + 16, 8),
                                      .receive_bytes = co_little_endian_get(bytes + 24, 8)};
}

// Where the blocks of an all-to-all of equal ones stand.
static inline struct co_offload_blocks co_offload_blocks_equal(uint64_t send, uint64_t receive, uint64_t bytes,
                                                               uint32_t place)
{
    return (struct co_offload_blocks){send + place * bytes, bytes, receive + place * bytes, bytes};
}

#endif
