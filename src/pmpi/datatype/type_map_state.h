// SPDX-License-Identifier: BSD-3-Clause
//
// What the shape of a type consists of. Private: type_decode.c makes it, type_map.c walks it.
#ifndef CASTOFF_PMPI_DATATYPE_TYPE_MAP_STATE_H
#define CASTOFF_PMPI_DATATYPE_TYPE_MAP_STATE_H

#include "base/atomics.h"
#include "pmpi/datatype/type_map.h"

// One element of a type, in the order of packing.
struct co_type_node {
    struct co_type_node *next; // of all that the shape has to free
    size_t bytes;              // packed
    size_t block_count;
    struct co_type_block blocks[];
};

struct co_type_shape {
    _Atomic unsigned holds;
    const struct co_type_node *element;
    struct co_type_node *nodes;
    size_t block_count, blocks_most; // in all nodes
};

// `count` parts, which begin with `place`; two loops one of which has one turn are one, and runs that touch one run.
struct co_type_block co_type_loop(ptrdiff_t place, size_t count, ptrdiff_t stride, const struct co_type_node *part);

#endif
