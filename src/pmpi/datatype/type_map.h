// SPDX-License-Identifier: BSD-3-Clause
//
// Where the bytes of a message lie in the program's buffer (MPI 3.1, section 4.1: the type map), as loops over runs of
// bytes. With it any part of a message is packed and unpacked, in any order and where native must not be called; so
// large messages are packed piece by piece while they go. The shape of one element may serve many messages.
#ifndef CASTOFF_PMPI_DATATYPE_TYPE_MAP_H
#define CASTOFF_PMPI_DATATYPE_TYPE_MAP_H

#include "pmpi/datatype/datatypes.h"

struct co_type_shape; // of one element; counted, any thread
struct co_type_node;

// `count` equal parts, `stride` from one to the next, the first at `place` from the origin of its node.
struct co_type_block {
    ptrdiff_t place, stride;
    size_t count, bytes;             // parts; packed bytes of one
    size_t start;                    // packed bytes of the node before this block
    const struct co_type_node *part; // NULL: a run of bytes
};

struct co_type_map {
    struct co_type_shape *shape; // held
    struct co_type_block elements;
};

// How many blocks a shape may have that serves one message of so many bytes: more take too long to be read. And one
// that serves many messages: more take too much memory, 48 bytes each.
size_t co_type_shape_worth(size_t bytes);
#define CO_TYPE_SHAPE_MOST ((size_t)64 << 10)

// Asks native. NULL: no memory, or a type that has no bytes, too many blocks, or is not known (MPI_Type_create_darray,
// predefined pairs): native packs it.
struct co_type_shape *co_type_shape_open(MPI_Datatype type, const struct co_datatype *facts, size_t blocks_most);
struct co_type_shape *co_type_shape_hold(struct co_type_shape *shape); // the same
void co_type_shape_drop(struct co_type_shape *shape);                  // NULL: nothing
size_t co_type_shape_blocks(const struct co_type_shape *shape);        // NULL: 0

// Of `count` elements, at least one. Takes the caller's hold of the shape over; co_type_map_end gives it back.
void co_type_map_begin(struct co_type_map *map, struct co_type_shape *shape, size_t count, ptrdiff_t extent);
void co_type_map_end(struct co_type_map *map);

// Bytes [from, to) of the packed message, which begins at `packed`. Calls nobody; any thread.
void co_type_map_pack(const struct co_type_map *map, void *packed, const void *buffer, size_t from, size_t to);
void co_type_map_unpack(const struct co_type_map *map, void *buffer, const void *packed, size_t from, size_t to);

#endif
