// SPDX-License-Identifier: BSD-3-Clause
//
// The buffers of an allgather in the form the engine wants: one packed block of ours, one packed array of all blocks.
// The program's own buffers where they allow it, temporary ones where not. Common to the allgathers. Hot; the thread of
// the call.
#ifndef CASTOFF_PMPI_COLLECTIVE_GATHER_BUFFERS_H
#define CASTOFF_PMPI_COLLECTIVE_GATHER_BUFFERS_H

#include "pmpi/collective/routing.h"

// What the program said.
struct co_gather_call {
    const void *send;
    ptrdiff_t send_count;
    MPI_Datatype send_type;
    void *receive;
    ptrdiff_t receive_count;
    MPI_Datatype receive_type;
    struct co_communicator *communicator;
    struct co_datatype send_facts, receive_facts;
    uint64_t trial_ns;  // 0: it is none
    size_t block_bytes; // of one rank, by the receiving side: the one that counts with MPI_IN_PLACE, too
    bool is_by_proxies; // they have to reach the buffers
};

struct co_gather_buffers {
    const void *mine; // NULL: in place
    void *all;
    void *packed_mine, *packed_all; // temporary, NULL: not needed
};

// CO_TAKE, or why the call goes to native. Fills the communicator, facts and block_bytes.
enum co_reason co_gather_route(struct co_gather_call *call, MPI_Comm comm, enum co_call which);

// Packs what must be packed. 0 or -errno (nothing is held then).
int co_gather_buffers_open(struct co_gather_buffers *buffers, const struct co_gather_call *call);

// Once more, for a later operation with the same buffers. 0 or -errno; they stay open.
int co_gather_buffers_fill(const struct co_gather_buffers *buffers, const struct co_gather_call *call);

// After the operation: brings the blocks to the program's buffer. Calls native. 0 or -errno.
int co_gather_buffers_unpack(const struct co_gather_buffers *buffers, const struct co_gather_call *call);

void co_gather_buffers_close(struct co_gather_buffers *buffers);

// The whole of a blocking call, whose communicator has a team. 0 or -errno: then the others do not wait for this rank.
int co_gather_run(const struct co_gather_call *call);

#endif
