// SPDX-License-Identifier: BSD-3-Clause
//
// Where the bytes of a datatype lie, as castoff's own table: for receives that end where native MPI must not be called.
// Learned from native's own packing, so it is right for every type; costs memory and time, so only for what is rare.
#ifndef CASTOFF_PMPI_DATATYPE_UNPACK_TABLE_H
#define CASTOFF_PMPI_DATATYPE_UNPACK_TABLE_H

#include "pmpi/datatype/datatypes.h"

struct co_unpack_table;

// Calls native MPI. NULL: no memory, or one element spans too much of it to be learned (16 MiB).
struct co_unpack_table *co_unpack_table_open(MPI_Datatype type, const struct co_datatype *facts);

// The first `bytes` packed bytes to their places; calls nobody.
void co_unpack_table_apply(const struct co_unpack_table *table, void *buffer, const void *packed, size_t bytes);

void co_unpack_table_close(struct co_unpack_table *table); // NULL: nothing

#endif
