// SPDX-License-Identifier: BSD-3-Clause
//
// The buffers of an MPI_Ialltoallv as proxies want them: where the bytes for each rank lie, and where those from each
// go. In the program's own buffers where its types allow that. Common to the forms of that call. Hot; the thread of the
// call.
#ifndef CASTOFF_PMPI_COLLECTIVE_ALLTOALLV_BUFFERS_H
#define CASTOFF_PMPI_COLLECTIVE_ALLTOALLV_BUFFERS_H

#include "offload/collective/proxied_collective.h"
#include "pmpi/collective/routing.h"

// One direction of what the program said: by rank, places count in extents of the type.
struct co_alltoallv_side {
    const int *counts, *places;
    MPI_Datatype type;
    struct co_datatype facts;
};

struct co_alltoallv_call {
    const void *send_buffer; // or MPI_IN_PLACE, and then `send` says nothing
    void *receive_buffer;
    struct co_alltoallv_side send, receive;
    struct co_communicator *communicator;
    size_t mean_bytes; // received from a rank, rounded up: for the report
};

struct co_alltoallv_buffers {
    const void *send;
    void *receive;
    struct co_proxied_block *blocks;    // by rank; NULL: not open
    void *packed_send, *packed_receive; // temporary, in rank order; NULL: not needed
    int *counts;                        // the program's of the receiving side, kept for the end where that is packed,
    int *places;                        // and its places, in the same allocation
};

// CO_TAKE, or why the call goes to native. Fills the communicator, facts and bytes.
enum co_reason co_alltoallv_route(struct co_alltoallv_call *call, MPI_Comm comm, enum co_call which);

// Packs what must be packed. 0 or -errno (nothing is held then).
int co_alltoallv_buffers_open(struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call);

// Once more, for a later operation with the same buffers. 0 or -errno; they stay open.
int co_alltoallv_buffers_fill(const struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call);

// After the operation: brings the blocks to the program's buffer. Calls native. 0 or -errno.
int co_alltoallv_buffers_unpack(const struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call);

void co_alltoallv_buffers_close(struct co_alltoallv_buffers *buffers);

#endif
