// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Bsend, MPI_Ibsend and the buffer for both. Native knows the buffer, too: messages on communicators that castoff
// does not serve lie in it. Any thread.
#include "pmpi/p2p/buffered.h"
#include "pmpi/life/failure.h"
#include "pmpi/report/message_counts.h"

#include <errno.h>

int PMPI_Bsend(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm)
{
    struct co_message_buffer buffer;
    struct co_communicator *communicator = co_message_route_send(&buffer, address, count, type, destination, tag, comm);
    if (communicator == NULL) {
        return co_message_declined(CO_MESSAGE_Bsend, comm, destination,
                                   co_next_mpi_get()->Bsend(address, count, type, destination, tag, comm));
    }
    co_message_taken(CO_MESSAGE_Bsend, buffer.bytes);
    int error = co_buffered_send(&buffer, destination, tag, communicator);
    return error == 0 ? MPI_SUCCESS : co_failure_raise(communicator->comm, "MPI_Bsend", error);
}

static int start(const struct co_message_buffer *buffer, int destination, int tag, struct co_communicator *communicator,
                 MPI_Request *handle)
{
    struct co_mpi_request *request = co_request_handles_take();
    int error = request == NULL ? -ENOMEM : co_buffered_start(request, buffer, destination, tag, communicator);
    if (error != 0) {
        if (request != NULL) {
            co_request_handles_give(request);
        }
        return co_failure_raise(communicator->comm, "MPI_Ibsend", error);
    }
    *handle = request->handle;
    return MPI_SUCCESS;
}

int PMPI_Ibsend(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
                MPI_Request *handle)
{
    struct co_message_buffer buffer;
    struct co_communicator *communicator =
        handle == NULL ? NULL : co_message_route_send(&buffer, address, count, type, destination, tag, comm);
    if (communicator == NULL) {
        return co_message_declined(CO_MESSAGE_Ibsend, comm, destination,
                                   co_next_mpi_get()->Ibsend(address, count, type, destination, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Ibsend, buffer.bytes);
    return start(&buffer, destination, tag, communicator, handle);
}

int PMPI_Buffer_attach(void *address, int size)
{
    int code = co_next_mpi_get()->Buffer_attach(address, size);
    if (code == MPI_SUCCESS) {
        co_buffered_attach(address, (size_t)size);
    }
    return code;
}

int PMPI_Buffer_detach(void *address, int *size)
{
    if (co_process_is_serving()) {
        co_buffered_drain();
    }
    int code = co_next_mpi_get()->Buffer_detach(address, size);
    if (code == MPI_SUCCESS) {
        co_buffered_attach(NULL, 0);
    }
    return code;
}
