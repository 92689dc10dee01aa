// SPDX-License-Identifier: BSD-3-Clause
//
// The buffer of a broadcast in the form the engine wants: bytes in a row of the host's memory. The program's own where
// it is that, a packed copy where not. Common to the broadcasts. Hot; the thread of the call.
#ifndef CASTOFF_PMPI_COLLECTIVE_BCAST_BUFFERS_H
#define CASTOFF_PMPI_COLLECTIVE_BCAST_BUFFERS_H

#include "pmpi/collective/routing.h"

// What the program said.
struct co_bcast_call {
    void *buffer;
    ptrdiff_t count;
    int root;
    MPI_Datatype type;
    struct co_communicator *communicator;
    struct co_datatype facts;
    size_t bytes;
    bool has_meetings;  // and counts for them
    uint64_t began_ns;  // of rank 0, if so
    uint64_t trial_ns;  // 0: it is none
    bool is_skipped;    // native's, and counted as such
    bool is_by_proxies; // they have to reach the buffer
};

struct co_bcast_buffers {
    void *data;
    void *packed; // temporary, NULL: not needed
};

// CO_TAKE, or why the call goes to native. Fills the communicator, facts and bytes.
enum co_reason co_bcast_route(struct co_bcast_call *call, MPI_Comm comm, enum co_call which);
// A blocking one goes to native, for that reason.
void co_bcast_begin_native(struct co_bcast_call *call, enum co_reason reason);
// It has returned this code, taken or not for that reason.
void co_bcast_end(const struct co_bcast_call *call, MPI_Comm comm, enum co_reason reason, int code);

// Packs what must be packed. 0 or -errno (nothing is held then).
int co_bcast_buffers_open(struct co_bcast_buffers *buffers, const struct co_bcast_call *call);

// Once more, for a later operation with the same buffers. 0 or -errno; they stay open.
int co_bcast_buffers_fill(const struct co_bcast_buffers *buffers, const struct co_bcast_call *call);

// After the operation, which ended with `error`: brings what came of the root's `given` bytes to the program's buffer.
// Calls native. The operation's error, or what happened here: 0 or -errno.
int co_bcast_buffers_unpack(const struct co_bcast_buffers *buffers, const struct co_bcast_call *call, int error,
                            size_t given);

void co_bcast_buffers_close(struct co_bcast_buffers *buffers);

#endif
