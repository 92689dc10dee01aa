// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks of unequal lengths, on their way through equal ones or one behind the other. Hot.
#include "engine/collective/unequal_blocks.h"

#include <string.h>

#include "base/memory/memory_copy.h"
#include "base/mix_bits.h"
#include "engine/collective/team.h"

#define PADDED_MOST ((size_t)16 << 10) // bytes of all blocks, what they are filled up with included
#define PADDED_WASTE 4                 // times the bytes that there are
#define PADDED_ANYWAY ((size_t)128)    // of a block, which costs no more than a shorter one

struct co_unequal_blocks_shape co_unequal_blocks_measure(const struct co_block blocks[], int count)
{
    struct co_unequal_blocks_shape shape = {0};
    for (int i = 0; i < count; i++) {
        shape.total += blocks[i].bytes;
        shape.largest = blocks[i].bytes > shape.largest ? blocks[i].bytes : shape.largest;
        shape.senders += blocks[i].bytes > 0;
    }
    return shape;
}

bool co_unequal_blocks_are_padded(const struct co_team *team, const struct co_unequal_blocks_shape *shape)
{
    size_t most = PADDED_MOST / (size_t)team->size;
    if (team->is_flat || shape->senders == 1) {
        return false;
    }
    return co_unequal_blocks_are_equal(team->size, shape) ||
           (shape->largest <= most &&
            (shape->largest <= PADDED_ANYWAY || shape->largest * (size_t)team->size <= PADDED_WASTE * shape->total));
}

uint64_t co_unequal_blocks_word(const struct co_block blocks[], int count)
{
    uint64_t word = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        word = co_mix_bits(word + blocks[i].bytes + 1);
    }
    return word == 0 ? 1 : word;
}

unsigned char *co_unequal_blocks_first(const struct co_block blocks[], int count)
{
    unsigned char *first = NULL;
    for (int i = 0; i < count; i++) {
        unsigned char *buffer = blocks[i].buffer;
        first = blocks[i].bytes > 0 && (first == NULL || buffer < first) ? buffer : first;
    }
    return first;
}

bool co_unequal_blocks_are_in_a_row(const struct co_block blocks[], int count)
{
    const unsigned char *at = NULL;
    for (int i = 0; i < count; i++) {
        if (blocks[i].bytes > 0) {
            if (at != NULL && at != blocks[i].buffer) {
                return false;
            }
            at = (const unsigned char *)blocks[i].buffer + blocks[i].bytes;
        }
    }
    return true;
}

void co_unequal_blocks_place(struct co_mcast_place places[], const struct co_block blocks[], int count,
                             const unsigned char *buffer)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        const struct co_block *block = &blocks[i];
        size_t offset = buffer == NULL ? at : (size_t)((const unsigned char *)block->buffer - buffer);
        places[i] = (struct co_mcast_place){block->bytes > 0 ? offset : 0, block->bytes};
        at += block->bytes;
    }
}

void co_unequal_blocks_pack_own(unsigned char *packed, size_t stride, const struct co_block blocks[], int own)
{
    size_t at = stride * (size_t)own;
    for (int i = 0; i < own && stride == 0; i++) {
        at += blocks[i].bytes;
    }
    co_memory_copy(packed + at, blocks[own].buffer, blocks[own].bytes);
    if (stride > 0) {
        memset(packed + at + blocks[own].bytes, 0, stride - blocks[own].bytes); // others are told nothing of our memory
    }
}

void co_unequal_blocks_unpack_others(const unsigned char *packed, size_t stride, const struct co_block blocks[],
                                     int count, int own)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        if (i != own) {
            co_memory_copy(blocks[i].buffer, packed + at, blocks[i].bytes);
        }
        at += stride > 0 ? stride : blocks[i].bytes;
    }
}
