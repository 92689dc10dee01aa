// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that make persistent requests and start them. Communicator and datatype are kept, because the program may
// free its own before the last start. Starting is hot; one thread starts and completes a request (MPI's rule).
#include "pmpi/request/persistent.h"

#include "pmpi/p2p/buffered.h"
#include "pmpi/life/failure.h"
#include "pmpi/report/message_counts.h"
#include "pmpi/p2p/message_requests.h"

#include <errno.h>
#include <stdlib.h>

enum operation { RECEIVE, SEND, SYNCHRONOUS_SEND, BUFFERED_SEND };

struct co_persistent {
    enum operation operation;
    struct co_message_buffer buffer; // as co_message_read_buffer left it
    MPI_Datatype kept_type;          // datatype_null: none
    struct co_communicator *communicator;
    int peer, tag;
};

void co_persistent_release(struct co_persistent *persistent)
{
    if (persistent->kept_type != co_next.datatype_null) {
        co_next.Type_free(&persistent->kept_type);
    }
    co_p2p_context_let_go(persistent->communicator->messages);
    co_communicator_drop(persistent->communicator);
    free(persistent);
}

int co_persistent_free(MPI_Request *handle, struct co_mpi_request *request)
{
    if (request->persistent == NULL) { // completed before, by another copy of the handle
        return co_failure_raise_code(co_next.comm_world, "MPI_Request_free", MPI_ERR_REQUEST);
    }
    co_persistent_release(request->persistent);
    request->persistent = NULL;
    *handle = co_next.request_null;
    co_placeholders_give(request);
    return MPI_SUCCESS;
}

// Only a type that is packed is looked at again.
static int keep_type(struct co_persistent *persistent)
{
    struct co_message_buffer *buffer = &persistent->buffer;
    persistent->kept_type = co_next.datatype_null;
    if (buffer->facts.is_contiguous || buffer->bytes == 0) {
        return 0;
    }
    int error = co_datatype_hold(buffer->type, &persistent->kept_type);
    if (error == 0) {
        buffer->type = persistent->kept_type;
    }
    return error;
}

static int make(const struct co_persistent *template, const char *call, MPI_Request *handle)
{
    struct co_communicator *communicator = template->communicator;
    struct co_mpi_request *request = co_placeholders_take();
    struct co_persistent *persistent = malloc(sizeof *persistent);
    int error = -ENOMEM;
    if (request != NULL && persistent != NULL) {
        *persistent = *template;
        error = keep_type(persistent);
    }
    if (error != 0) {
        free(persistent);
        if (request != NULL) {
            co_placeholders_give(request);
        }
        return co_failure_raise(communicator->comm, call, error);
    }
    co_communicator_hold(communicator);
    co_p2p_context_hold(communicator->messages);
    request->persistent = persistent;
    *handle = request->handle;
    return MPI_SUCCESS;
}

static int start(struct co_mpi_request *request, const char *call)
{
    struct co_persistent *persistent = request->persistent;
    if (persistent == NULL || co_request_of(request->handle) != NULL) { // not persistent, or under way
        return co_failure_raise_code(co_next.comm_world, call, MPI_ERR_REQUEST);
    }
    const struct co_message_buffer *buffer = &persistent->buffer;
    struct co_communicator *communicator = persistent->communicator;
    int error = 0;
    switch (persistent->operation) {
    case RECEIVE:
        error = co_message_start_receive(request, buffer, persistent->peer, persistent->tag, communicator);
        break;
    case SEND:
    case SYNCHRONOUS_SEND:
        error = co_message_start_send(request, buffer, persistent->peer, persistent->tag, communicator,
                                      persistent->operation == SYNCHRONOUS_SEND);
        break;
    case BUFFERED_SEND:
        error = co_buffered_start(request, buffer, persistent->peer, persistent->tag, communicator);
        break;
    }
    return error == 0 ? MPI_SUCCESS : co_failure_raise(communicator->comm, call, error);
}

static size_t bytes_of(const struct co_mpi_request *request)
{
    return request->persistent == NULL ? 0 : request->persistent->buffer.bytes;
}

int PMPI_Start(MPI_Request *handle)
{
    struct co_mpi_request *request = handle == NULL ? NULL : co_request_behind(*handle);
    if (request == NULL) {
        return co_message_declined_handle(CO_MESSAGE_Start, co_next_mpi_get()->Start(handle));
    }
    co_message_taken(CO_MESSAGE_Start, bytes_of(request));
    return start(request, "MPI_Start");
}

// Native refuses an array with a null handle, and starts nothing.
static bool is_natives(int count, const MPI_Request handles[])
{
    bool has_ours = false;
    for (int i = 0; handles != NULL && i < count; i++) {
        if (handles[i] == co_next.request_null) {
            return true;
        }
        has_ours = has_ours || co_request_behind(handles[i]) != NULL;
    }
    return !has_ours;
}

int PMPI_Startall(int count, MPI_Request handles[])
{
    if (co_layer_is_off() || is_natives(count, handles)) {
        return co_message_declined_handle(CO_MESSAGE_Startall, co_next_mpi_get()->Startall(count, handles));
    }
    int code = MPI_SUCCESS;
    size_t bytes = 0;
    for (int i = 0; code == MPI_SUCCESS && i < count; i++) {
        // Never a placeholder to native: it would take it as started.
        struct co_mpi_request *request = co_request_behind(handles[i]);
        bytes += request == NULL ? 0 : bytes_of(request);
        code = request == NULL ? co_next.Startall(1, &handles[i]) : start(request, "MPI_Startall");
    }
    co_message_taken(CO_MESSAGE_Startall, bytes);
    return code;
}

int PMPI_Recv_init(void *address, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *handle)
{
    struct co_persistent receive = {
        .operation = RECEIVE, .buffer = {.address = address, .count = count, .type = type}, .peer = source, .tag = tag};
    receive.communicator = handle == NULL ? NULL : co_message_route_receive(&receive.buffer, source, tag, comm);
    if (receive.communicator == NULL) {
        return co_message_declined(CO_MESSAGE_Recv_init, comm, source,
                                   co_next_mpi_get()->Recv_init(address, count, type, source, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Recv_init, 0);
    return make(&receive, "MPI_Recv_init", handle);
}

static bool route(struct co_persistent *send, enum operation operation, const void *address, int count,
                  MPI_Datatype type, int destination, int tag, MPI_Comm comm)
{
    *send = (struct co_persistent){.operation = operation,
                                   .buffer = {.address = (void *)(uintptr_t)address, .count = count, .type = type},
                                   .peer = destination,
                                   .tag = tag};
    send->communicator = co_message_route_send(&send->buffer, destination, tag, comm);
    return send->communicator != NULL;
}

int PMPI_Send_init(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
                   MPI_Request *handle)
{
    struct co_persistent send;
    if (handle == NULL || !route(&send, SEND, address, count, type, destination, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Send_init, comm, destination,
                                   co_next_mpi_get()->Send_init(address, count, type, destination, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Send_init, 0);
    return make(&send, "MPI_Send_init", handle);
}

int PMPI_Rsend_init(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
                    MPI_Request *handle)
{
    struct co_persistent send;
    if (handle == NULL || !route(&send, SEND, address, count, type, destination, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Rsend_init, comm, destination,
                                   co_next_mpi_get()->Rsend_init(address, count, type, destination, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Rsend_init, 0);
    return make(&send, "MPI_Rsend_init", handle);
}

int PMPI_Ssend_init(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
                    MPI_Request *handle)
{
    struct co_persistent send;
    if (handle == NULL || !route(&send, SYNCHRONOUS_SEND, address, count, type, destination, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Ssend_init, comm, destination,
                                   co_next_mpi_get()->Ssend_init(address, count, type, destination, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Ssend_init, 0);
    return make(&send, "MPI_Ssend_init", handle);
}

int PMPI_Bsend_init(const void *address, int count, MPI_Datatype type, int destination, int tag, MPI_Comm comm,
                    MPI_Request *handle)
{
    struct co_persistent send;
    if (handle == NULL || !route(&send, BUFFERED_SEND, address, count, type, destination, tag, comm)) {
        return co_message_declined(CO_MESSAGE_Bsend_init, comm, destination,
                                   co_next_mpi_get()->Bsend_init(address, count, type, destination, tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Bsend_init, 0);
    return make(&send, "MPI_Bsend_init", handle);
}

CO_EXPORT(Recv_init);
CO_EXPORT(Send_init);
CO_EXPORT(Rsend_init);
CO_EXPORT(Ssend_init);
CO_EXPORT(Bsend_init);
CO_EXPORT(Start);
CO_EXPORT(Startall);
