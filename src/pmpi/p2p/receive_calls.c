// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Recv and MPI_Irecv. Hot.
#include "pmpi/life/failure.h"
#include "pmpi/report/message_counts.h"
#include "pmpi/p2p/message_requests.h"

static int receive(struct co_message_buffer *buffer, int source, int tag, struct co_communicator *communicator,
                   MPI_Status *status)
{
    int error = co_message_make_room(buffer, false);
    if (error == 0) {
        struct co_p2p_receive operation;
        operation.context = communicator->messages;
        co_message_fill_receive(&operation, buffer);
        operation.in_background = false;
        operation.on_done = NULL;
        co_p2p_receive(&operation, co_message_wildcard(source, MPI_ANY_SOURCE), co_message_wildcard(tag, MPI_ANY_TAG));
        co_message_wait_received(&operation, "MPI_Recv");
        error = co_message_unpack(buffer, &operation);
        co_message_fill_status(status, operation.source, operation.tag, operation.bytes, false);
    }
    if (buffer->packed != NULL) {
        co_message_release(buffer);
    }
    return error == 0 ? MPI_SUCCESS : co_failure_raise(communicator->comm, "MPI_Recv", error);
}

int PMPI_Recv(void *address, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    struct co_message_buffer buffer;
    struct co_communicator *communicator = co_message_route_receive(&buffer, address, count, type, source, tag, comm);
    if (communicator == NULL) {
        return co_message_declined(CO_MESSAGE_Recv, comm, source,
                                   co_next_mpi_get()->Recv(address, count, type, source, tag, comm, status));
    }
    co_message_taken(CO_MESSAGE_Recv, buffer.bytes);
    return receive(&buffer, source, tag, communicator, status);
}

int PMPI_Irecv(void *address, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *handle)
{
    struct co_message_buffer buffer;
    struct co_communicator *communicator =
        handle == NULL ? NULL : co_message_route_receive(&buffer, address, count, type, source, tag, comm);
    if (communicator == NULL) {
        return co_message_declined(CO_MESSAGE_Irecv, comm, source,
                                   co_next_mpi_get()->Irecv(address, count, type, source, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Irecv, buffer.bytes);
    return co_message_irecv(&buffer, source, tag, communicator, handle);
}
