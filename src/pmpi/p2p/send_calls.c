// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Send and its relatives, blocking and not. A ready send is a standard one, which MPI allows. Hot.
#include "pmpi/life/failure.h"
#include "pmpi/report/message_counts.h"
#include "pmpi/p2p/message_requests.h"

static int send(struct co_message_buffer *buffer, int destination, int tag, struct co_communicator *communicator,
                bool is_synchronous, const char *call)
{
    if (!is_synchronous && co_message_leaves_now(buffer, destination, tag, communicator)) {
        return MPI_SUCCESS;
    }
    int error = co_message_pack_later(buffer);
    if (error == 0) {
        struct co_p2p_send operation;
        operation.context = communicator->messages;
        co_message_fill_send(&operation, buffer);
        operation.destination = destination;
        operation.tag = tag;
        operation.is_synchronous = is_synchronous;
        operation.in_background = false;
        operation.on_done = NULL;
        co_p2p_send(&operation);
        co_message_wait_sent(&operation, call);
        error = operation.result;
    }
    if (buffer->packed != NULL) {
        co_message_release(buffer);
    }
    return error == 0 ? MPI_SUCCESS : co_failure_raise(communicator->comm, call, error);
}

#define SEND(name, is_synchronous)                                                                                     \
    int PMPI_##name(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm)        \
    {                                                                                                                  \
        if (!(is_synchronous) && co_message_leaves_at_once(address, count, type, destination, tag, comm)) {            \
            co_message_taken(CO_MESSAGE_##name, (size_t)count *co_datatype_predefined(type)->bytes);                   \
            return MPI_SUCCESS;                                                                                        \
        }                                                                                                              \
        struct co_message_buffer buffer;                                                                               \
        struct co_communicator *communicator =                                                                         \
            co_message_route_send(&buffer, address, count, type, destination, tag, comm);                              \
        if (communicator == NULL) {                                                                                    \
            return co_message_declined(CO_MESSAGE_##name, comm, destination,                                           \
                                       co_next_mpi_get()->name(address, count, type, destination, tag, comm));         \
        }                                                                                                              \
        co_message_taken(CO_MESSAGE_##name, buffer.bytes);                                                             \
        return send(&buffer, destination, tag, communicator, is_synchronous, "MPI_" #name);                            \
    }

SEND(Send, false)
SEND(Rsend, false)
SEND(Ssend, true)

#define ISEND(name, is_synchronous)                                                                                    \
    int PMPI_##name(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,        \
                    MPI_Request *handle)                                                                               \
    {                                                                                                                  \
        MPI_Request done = handle == NULL || (is_synchronous) ? co_next.request_null : co_request_handles_done();      \
        if (done != co_next.request_null && co_message_leaves_at_once(address, count, type, destination, tag, comm)) { \
            co_message_taken(CO_MESSAGE_##name, (size_t)count *co_datatype_predefined(type)->bytes);                   \
            *handle = done;                                                                                            \
            return MPI_SUCCESS;                                                                                        \
        }                                                                                                              \
        struct co_message_buffer buffer;                                                                               \
        struct co_communicator *communicator =                                                                         \
            handle == NULL ? NULL : co_message_route_send(&buffer, address, count, type, destination, tag, comm);      \
        if (communicator == NULL) {                                                                                    \
            return co_message_declined(CO_MESSAGE_##name, comm, destination,                                           \
                                       co_next_mpi_get()->name(address, count, type, destination, tag, comm, handle)); \
        }                                                                                                              \
        co_message_taken(CO_MESSAGE_##name, buffer.bytes);                                                             \
        return co_message_isend(&buffer, destination, tag, communicator, is_synchronous, "MPI_" #name, handle);        \
    }

ISEND(Isend, false)
ISEND(Irsend, false)
ISEND(Issend, true)
