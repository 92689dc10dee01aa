// SPDX-License-Identifier: BSD-3-Clause
//
// Between the program's buffers and packed bytes, which is what the engine carries: the types may differ on every
// rank, so only bytes travel. Any count, also beyond 2 GiB. Calls native MPI, so never from its progress loop. A buffer
// on a device is brought to the host as it lies there, from its first byte to its last, and back where it was changed.
#ifndef CASTOFF_PMPI_DATATYPE_PACKING_H
#define CASTOFF_PMPI_DATATYPE_PACKING_H

#include "pmpi/datatype/datatypes.h"
#include "pmpi/datatype/device_memory.h"
#include "pmpi/datatype/memory_reach.h"

// `count` elements at `buffer` to count x facts->bytes packed bytes. 0, -ENOMEM or -EIO.
int co_pack(void *packed, const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts);

// The first `bytes` packed bytes of a message that fills the buffer in part, perhaps up to the middle of an element.
int co_unpack_part(void *buffer, const void *packed, size_t bytes, size_t count, MPI_Datatype type,
                   const struct co_datatype *facts);

int co_unpack(void *buffer, const void *packed, size_t count, MPI_Datatype type, const struct co_datatype *facts);

bool co_packing_is_on_device(const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts);

// Whether the engine must be given packed bytes: they lie in another order, or where it cannot touch them.
static inline bool co_packing_is_needed(const void *buffer, size_t count, MPI_Datatype type,
                                        const struct co_datatype *facts)
{
    return !facts->is_contiguous ||
           (__builtin_expect(co_device_memory_is_taken, 0) && co_packing_is_on_device(buffer, count, type, facts));
}

// Likewise where it may be a proxy that has to reach them. Asked anew each time: another mapping may be there by now.
static inline bool co_packing_is_needed_for(bool is_by_proxies, const void *buffer, size_t count, MPI_Datatype type,
                                            const struct co_datatype *facts)
{
    return co_packing_is_needed(buffer, count, type, facts) ||
           (is_by_proxies && co_unreached_is(buffer, count * facts->bytes));
}

// For a native message to ourselves (co_process.self): each has its own, for several threads may do so at once.
int co_packing_tag(void);

#endif
