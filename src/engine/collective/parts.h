// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks of unequal lengths: how long they are, which way they go, and what is packed on that way. The lengths are
// equal on all members, places are each member's own. Private to src/engine; any thread.
#ifndef CASTOFF_ENGINE_COLLECTIVE_PARTS_H
#define CASTOFF_ENGINE_COLLECTIVE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/engine.h"

struct co_parts_shape {
    size_t total, largest;
    int senders; // that have any bytes
};
struct co_parts_shape co_parts_measure(const struct co_part parts[], int count);

// Small ones inside a node go as equal blocks, each as long as the largest: one allgather costs as much as one of the
// broadcasts.
bool co_parts_are_padded(const struct co_team *team, const struct co_parts_shape *shape);

bool co_parts_are_in_a_row(const struct co_part parts[], int count);
unsigned char *co_parts_first(const struct co_part parts[], int count); // byte of all

// Packed: `stride` from block to block, or one behind the other where it is 0.
void co_parts_pack_own(unsigned char *packed, size_t stride, const struct co_part parts[], int own);
void co_parts_unpack_others(const unsigned char *packed, size_t stride, const struct co_part parts[], int count,
                            int own);

#endif
