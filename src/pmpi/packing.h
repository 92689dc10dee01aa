// SPDX-License-Identifier: BSD-3-Clause
//
// Between the program's buffers and packed bytes, which is what the engine carries: the types may differ on every
// rank, so only bytes travel. Any count, also beyond 2 GiB. Calls native MPI, so never from its progress loop.
#ifndef CASTOFF_PMPI_PACKING_H
#define CASTOFF_PMPI_PACKING_H

#include "pmpi/datatypes.h"

// `count` elements at `buffer` to count x facts->bytes packed bytes. 0, -ENOMEM or -EIO.
int co_pack(void *packed, const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts);

// The first `bytes` packed bytes of a message that fills the buffer in part, perhaps up to the middle of an element.
int co_unpack_part(void *buffer, const void *packed, size_t bytes, size_t count, MPI_Datatype type,
                   const struct co_datatype *facts);

int co_unpack(void *buffer, const void *packed, size_t count, MPI_Datatype type, const struct co_datatype *facts);

// For a native message to ourselves (co_layer.self): each has its own, for several threads may do so at once.
int co_packing_tag(void);

#endif
