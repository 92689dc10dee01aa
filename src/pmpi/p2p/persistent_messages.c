// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that make persistent sends and receives, and their starts. The datatype is kept, because the program may
// free its own before the last start. Hot.
#include "pmpi/request/persistent.h"

#include "pmpi/p2p/buffered.h"
#include "pmpi/life/failure.h"
#include "pmpi/p2p/message_requests.h"
#include "pmpi/report/message_counts.h"

#include <errno.h>
#include <stdlib.h>

enum operation { RECEIVE, SEND, SYNCHRONOUS_SEND, BUFFERED_SEND };

struct persistent_message {
    struct co_persistent persistent; // first
    enum operation operation;
    struct co_message_buffer buffer; // as co_message_read_buffer left it
    MPI_Datatype kept_type;          // datatype_null: none
    int peer, tag;
};

static void release(struct co_persistent *persistent)
{
    struct persistent_message *message = (struct persistent_message *)persistent;
    if (message->kept_type != co_next.datatype_null) {
        co_next.Type_free(&message->kept_type);
    }
    co_p2p_context_let_go(persistent->communicator->messages);
    free(message);
}

static int start(struct co_mpi_request *request)
{
    const struct persistent_message *message = (const struct persistent_message *)request->persistent;
    const struct co_message_buffer *buffer = &message->buffer;
    struct co_communicator *communicator = message->persistent.communicator;
    int error = 0;
    switch (message->operation) {
    case RECEIVE:
        error = co_message_start_receive(request, buffer, message->peer, message->tag, communicator);
        break;
    case SEND:
    case SYNCHRONOUS_SEND:
        error = co_message_start_send(request, buffer, message->peer, message->tag, communicator,
                                      message->operation == SYNCHRONOUS_SEND);
        break;
    case BUFFERED_SEND:
        error = co_buffered_start(request, buffer, message->peer, message->tag, communicator);
        break;
    }
    return error;
}

static const struct co_persistent_kind kind = {.start = start, .release = release, .is_message = true};

// Only a type that is packed is looked at again.
static int keep_type(struct persistent_message *message)
{
    struct co_message_buffer *buffer = &message->buffer;
    message->kept_type = co_next.datatype_null;
    if (buffer->facts.is_contiguous || buffer->bytes == 0) {
        return 0;
    }
    int error = co_datatype_hold(buffer->type, &message->kept_type);
    if (error == 0) {
        buffer->type = message->kept_type;
    }
    return error;
}

static int make(const struct persistent_message *template, const char *call, MPI_Request *handle)
{
    struct co_communicator *communicator = template->persistent.communicator;
    struct co_mpi_request *request = co_request_handles_take();
    struct persistent_message *message = malloc(sizeof *message);
    int error = -ENOMEM;
    if (request != NULL && message != NULL) {
        *message = *template;
        message->persistent.kind = &kind;
        message->persistent.bytes = template->buffer.bytes;
        error = keep_type(message);
    }
    if (error != 0) {
        free(message);
        if (request != NULL) {
            co_request_handles_give(request);
        }
        return co_failure_raise(communicator->comm, call, error);
    }
    co_communicator_hold(communicator);
    co_p2p_context_hold(communicator->messages);
    request->persistent = &message->persistent;
    *handle = request->handle;
    return MPI_SUCCESS;
}

int PMPI_Recv_init(void *address, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *handle)
{
    struct persistent_message receive = {.operation = RECEIVE, .peer = source, .tag = tag};
    receive.persistent.communicator =
        handle == NULL ? NULL : co_message_route_receive(&receive.buffer, address, count, type, source, tag, comm);
    if (receive.persistent.communicator == NULL) {
        return co_message_declined(CO_MESSAGE_Recv_init, comm, source,
                                   co_next_mpi_get()->Recv_init(address, count, type, source, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Recv_init, 0);
    return make(&receive, "MPI_Recv_init", handle);
}

static bool route(struct persistent_message *send, enum operation operation, const void *address, int count,
                  MPI_Datatype type, int destination, int tag, MPI_Comm comm)
{
    *send = (struct persistent_message){.operation = operation, .peer = destination, .tag = tag};
    send->persistent.communicator = co_message_route_send(&send->buffer, address, count, type, destination, tag, comm);
    return send->persistent.communicator != NULL;
}

#define SEND_INIT(name, how)                                                                                           \
    int PMPI_##name(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,        \
                    MPI_Request *handle)                                                                               \
    {                                                                                                                  \
        struct persistent_message send;                                                                                \
        if (handle == NULL || !route(&send, how, address, count, type, destination, tag, comm)) {                      \
            return co_message_declined(CO_MESSAGE_##name, comm, destination,                                           \
                                       co_next_mpi_get()->name(address, count, type, destination, tag, comm, handle)); \
        }                                                                                                              \
        co_message_taken(CO_MESSAGE_##name, 0);                                                                        \
        return make(&send, "MPI_" #name, handle);                                                                      \
    }

SEND_INIT(Send_init, SEND)
SEND_INIT(Rsend_init, SEND)
SEND_INIT(Ssend_init, SYNCHRONOUS_SEND)
SEND_INIT(Bsend_init, BUFFERED_SEND)
