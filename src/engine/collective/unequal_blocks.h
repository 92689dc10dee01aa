// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks of unequal lengths: how long they are, whether they are padded to equal ones, and what is packed. The lengths
// are equal on all members, places are each member's own. Which way they go is chosen in team_run.c and collective.c.
// Private to src/engine; any thread.
#ifndef CASTOFF_ENGINE_COLLECTIVE_UNEQUAL_BLOCKS_H
#define CASTOFF_ENGINE_COLLECTIVE_UNEQUAL_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "mcast/mcast.h"

struct co_unequal_blocks_shape {
    size_t total, largest;
    int senders; // that have any bytes
};
struct co_unequal_blocks_shape co_unequal_blocks_measure(const struct co_block blocks[], int count);

// Of the same length, at other places than one behind the other.
static inline bool co_unequal_blocks_are_equal(int count, const struct co_unequal_blocks_shape *shape)
{
    return shape->largest * (size_t)count == shape->total;
}

// Between hosts of several ranks equal ones, and small ones go as equal blocks, each as long as the largest: one
// allgather costs as much as one of the broadcasts.
bool co_unequal_blocks_are_padded(const struct co_team *team, const struct co_unequal_blocks_shape *shape);

// A word for all lengths, never 0. Members that have the same one agree.
uint64_t co_unequal_blocks_word(const struct co_block blocks[], int count);

bool co_unequal_blocks_are_in_a_row(const struct co_block blocks[], int count);
unsigned char *co_unequal_blocks_first(const struct co_block blocks[], int count); // byte of all

// For the network: in a buffer that all of them are in, or, NULL, packed one behind the other.
void co_unequal_blocks_place(struct co_mcast_place places[], const struct co_block blocks[], int count,
                             const unsigned char *buffer);

// Packed: `stride` from block to block, or one behind the other where it is 0.
void co_unequal_blocks_pack_own(unsigned char *packed, size_t stride, const struct co_block blocks[], int own);
void co_unequal_blocks_unpack_others(const unsigned char *packed, size_t stride, const struct co_block blocks[],
                                     int count, int own);

#endif
