// SPDX-License-Identifier: BSD-3-Clause
//
// Sends and receives behind a request handle: what a nonblocking call starts, and what MPI_Start starts again.
#ifndef CASTOFF_PMPI_P2P_MESSAGE_REQUESTS_H
#define CASTOFF_PMPI_P2P_MESSAGE_REQUESTS_H

#include "pmpi/p2p/messages.h"
#include "pmpi/request/requests.h"

// One started operation, at the begin of a line. Its memory stays with the request for the next one, or goes when it
// was detached.
struct co_message_operation {
    union {
        struct co_p2p_send send;
        struct co_p2p_receive receive;
    } p2p;
    struct co_message_buffer buffer;
    struct co_mpi_request *request; // that it belongs to
    // Of a receive that was freed under way.
    struct co_unpack_table *unpack_table;
    struct co_message_operation *next_ended;
};

// Start behind a request: `buffer` was read (co_message_read_buffer). MPI_SUCCESS, or an error that has been raised.
int co_message_isend(const struct co_message_buffer *buffer, int destination, int tag,
                     struct co_communicator *communicator, bool is_synchronous, const char *call, MPI_Request *handle);
int co_message_irecv(const struct co_message_buffer *buffer, int source, int tag, struct co_communicator *communicator,
                     MPI_Request *handle);

// Of a message that was taken (co_p2p_take), which is gone unless there is an error.
int co_message_imrecv(const struct co_message_buffer *buffer, struct co_p2p_message *message,
                      struct co_communicator *communicator, MPI_Request *handle);

// The parts of it, for persistent requests: an operation that has begun, behind a request that has a handle already.
// 0 or -errno.
int co_message_start_send(struct co_mpi_request *request, const struct co_message_buffer *buffer, int destination,
                          int tag, struct co_communicator *communicator, bool is_synchronous);
int co_message_start_receive(struct co_mpi_request *request, const struct co_message_buffer *buffer, int source,
                             int tag, struct co_communicator *communicator);

#endif
