// SPDX-License-Identifier: BSD-3-Clause
//
// The buffers of an allgather of unequal blocks in the form the engine wants: where each rank's bytes go, in the
// program's buffer where its type allows that, and the own ones there already. Common to those calls. Hot;
// the thread of the call.
#ifndef CASTOFF_PMPI_COLLECTIVE_GATHERV_BUFFERS_H
#define CASTOFF_PMPI_COLLECTIVE_GATHERV_BUFFERS_H

#include "pmpi/collective/gather_buffers.h"

// What the program said.
struct co_gatherv_call {
    const void *send;
    ptrdiff_t send_count;
    MPI_Datatype send_type;
    void *receive;
    const int *counts, *places; // by rank; places count in extents of the type. NULL: the large ones
    const MPI_Count *large_counts;
    const MPI_Aint *large_places;
    MPI_Datatype receive_type;
    struct co_communicator *communicator;
    struct co_datatype send_facts, receive_facts;
    size_t total_bytes;
    size_t largest_bytes;
    size_t block_bytes; // the mean, rounded up
    bool is_equal;      // all blocks are of this length: an allgather
    bool is_by_proxies; // where it is taken
};

struct co_gatherv_buffers {
    struct co_block *blocks;    // by rank
    void *packed;               // all blocks, in rank order; NULL: not needed. Equal ones are an allgather in place
    ptrdiff_t *counts, *places; // the program's, kept for the end where they are packed
};

static inline ptrdiff_t co_gatherv_count(const struct co_gatherv_call *call, int rank)
{
    return call->counts != NULL ? call->counts[rank] : (ptrdiff_t)call->large_counts[rank];
}

static inline ptrdiff_t co_gatherv_place(const struct co_gatherv_call *call, int rank)
{
    return call->places != NULL ? call->places[rank] : (ptrdiff_t)call->large_places[rank];
}

// CO_TAKE, or why the call goes to native. Fills the communicator, facts, bytes and who carries it.
enum co_reason co_gatherv_route(struct co_gatherv_call *call, MPI_Comm comm, enum co_call which);

// Packs what must be packed. 0 or -errno (nothing is held then).
int co_gatherv_buffers_open(struct co_gatherv_buffers *buffers, const struct co_gatherv_call *call);

// Equal blocks stand one behind the other, first to last: the call is this allgather, whatever it is on other members.
bool co_gatherv_is_row(const struct co_gatherv_call *call);
struct co_gather_call co_gatherv_as_gather(const struct co_gatherv_call *call);

// Once more, for a later operation with the same buffers. 0 or -errno; they stay open.
int co_gatherv_buffers_fill(const struct co_gatherv_buffers *buffers, const struct co_gatherv_call *call);

// After the operation: brings the blocks to the program's buffer. Calls native. 0 or -errno.
int co_gatherv_buffers_unpack(const struct co_gatherv_buffers *buffers, const struct co_gatherv_call *call);

void co_gatherv_buffers_close(struct co_gatherv_buffers *buffers);

// For the report: the mean count, where native has accepted the arguments. Of `call` it takes the counts alone.
ptrdiff_t co_gatherv_mean_count(const struct co_gatherv_call *call, MPI_Comm comm, int code);

// As co_route_end, by the mean count; of `call` it takes the counts and their type.
static inline void co_gatherv_end(const struct co_call_ticket *ticket, enum co_reason reason, MPI_Comm comm,
                                  const struct co_gatherv_call *call, int code)
{
    if (__builtin_expect(ticket->began_ns != 0, 0)) {
        co_route_count(ticket, reason, comm, co_gatherv_mean_count(call, comm, code), call->receive_type, code);
    }
}

#endif
