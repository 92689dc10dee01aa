// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests of castoff's own: what MPI_Start starts, behind a handle that stays the same. While nothing is
// under way the request has no kind, so completion calls leave its handle to native, which is such a request
// itself: inactive, with an empty status. Starting is hot; one thread starts and completes a request (MPI's rule).
#ifndef CASTOFF_PMPI_REQUEST_PERSISTENT_H
#define CASTOFF_PMPI_REQUEST_PERSISTENT_H

#include "pmpi/request/requests.h"

struct co_persistent_kind {
    int (*start)(struct co_mpi_request *request);      // one with nothing under way. 0 or -errno
    void (*release)(struct co_persistent *persistent); // with its memory, not the communicator
    // At the end of castoff, with an operation under way, which keeps its memory. NULL: nothing to do.
    void (*abandon)(struct co_persistent *persistent);
    bool is_message; // starts are counted among the messages
};

// The first member of what its kind knows more of.
struct co_persistent {
    const struct co_persistent_kind *kind;
    struct co_communicator *communicator; // held, because the program may free it before the last start
    size_t bytes;                         // of a message
};

// Once its handle leads nowhere. An operation under way keeps what it needs.
void co_persistent_release(struct co_persistent *persistent);

// MPI_Request_free of a handle of ours with nothing under way.
int co_persistent_free(MPI_Request *handle, struct co_mpi_request *request);

// At the end: those that the program has not freed.
void co_persistent_release_all(void);

#endif
