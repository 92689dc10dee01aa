// SPDX-License-Identifier: BSD-3-Clause
//
// Where the bytes of a message lie in the program's buffer (MPI 3.1, section 4.1: the type map), as loops over runs of
// bytes. With it any part of a message is packed and unpacked, in any order and where native must not be called; so
// large messages are packed piece by piece while they go.
#ifndef CASTOFF_PMPI_TYPE_MAP_H
#define CASTOFF_PMPI_TYPE_MAP_H

#include "pmpi/datatypes.h"

struct co_type_map;

// Of `count` elements; the caller's. Asks native. NULL: no memory, or a type that is not worth it (many blocks) or not
// known (MPI_Type_create_darray, predefined pairs): native packs it.
struct co_type_map *co_type_map_open(MPI_Datatype type, size_t count, const struct co_datatype *facts);
void co_type_map_close(struct co_type_map *map); // NULL: nothing

// Bytes [from, to) of the packed message, which begins at `packed`. Calls nobody; any thread.
void co_type_map_pack(const struct co_type_map *map, void *packed, const void *buffer, size_t from, size_t to);
void co_type_map_unpack(const struct co_type_map *map, void *buffer, const void *packed, size_t from, size_t to);

#endif
