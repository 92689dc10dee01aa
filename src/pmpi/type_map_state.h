// SPDX-License-Identifier: BSD-3-Clause
//
// What a type map consists of. Private: type_decode.c makes it, type_map.c walks it.
#ifndef CASTOFF_PMPI_TYPE_MAP_STATE_H
#define CASTOFF_PMPI_TYPE_MAP_STATE_H

#include "pmpi/type_map.h"

struct co_type_node;

// `count` equal parts, `stride` from one to the next, the first at `place` from the origin of its node.
struct co_type_block {
    ptrdiff_t place, stride;
    size_t count, bytes;             // parts; packed bytes of one
    size_t start;                    // packed bytes of the node before this block
    const struct co_type_node *part; // NULL: a run of bytes
};

// One element of a type, in the order of packing.
struct co_type_node {
    struct co_type_node *next; // of all that the map has to free
    size_t bytes;              // packed
    size_t block_count;
    struct co_type_block blocks[];
};

struct co_type_map {
    struct co_type_node *root; // all elements
    struct co_type_node *nodes;
    size_t block_count, blocks_most; // in all nodes
};

#endif
