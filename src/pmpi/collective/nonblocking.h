// SPDX-License-Identifier: BSD-3-Clause
//
// What nonblocking collectives have in common: an engine's task behind a request. The call starts it and returns;
// buffers and status are finished by the completing call. Hot; the thread of the call.
#ifndef CASTOFF_PMPI_COLLECTIVE_NONBLOCKING_H
#define CASTOFF_PMPI_COLLECTIVE_NONBLOCKING_H

#include "pmpi/report/call_counts.h"
#include "pmpi/request/requests.h"

struct co_nonblocking;

// One of the calls. The functions get the whole operation, whose first member is struct co_nonblocking.
struct co_nonblocking_kind {
    struct co_request_kind request; // CO_NONBLOCKING_REQUEST of its name
    size_t operation_bytes;
    // Gets the buffers ready and submits the task. 0 or -errno (nothing is held then but what `close` gives back).
    int (*start)(void *operation);
    // After the task, which ended with `error`: brings the result to the program's buffers. The operation's error, 0 or
    // -errno. Calls native.
    int (*deliver)(void *operation, int error);
    void (*close)(void *operation); // the buffers
};

struct co_nonblocking {
    const struct co_nonblocking_kind *kind;
    struct co_communicator *communicator;
    struct co_call_ticket ticket;
    size_t bytes; // for the report
    struct co_task *task;
    MPI_Datatype held_type; // datatype_null: none
};

#define CO_NONBLOCKING_REQUEST(name)                                                                                   \
    {                                                                                                                  \
        .call = name, .is_done = co_nonblocking_is_done, .settle = co_nonblocking_settle,                              \
        .fill_status = co_nonblocking_fill_status, .release = co_nonblocking_release                                   \
    }

bool co_nonblocking_is_done(const void *operation);
int co_nonblocking_settle(void *operation);
void co_nonblocking_fill_status(const void *operation, MPI_Status *status);
void co_nonblocking_release(void *operation);

// A call that is taken: starts a copy of the operation behind a request. Returns the MPI code; errors are raised.
int co_nonblocking_take(const struct co_nonblocking *operation, MPI_Comm comm, MPI_Request *handle);

// For `start`, when the completing call needs the type: one of ours in its place, for the program may free its own.
// 0 or -ENOMEM.
int co_nonblocking_hold_type(struct co_nonblocking *operation, MPI_Datatype *type);

#endif
