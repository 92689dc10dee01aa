// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Mrecv and MPI_Imrecv. Its communicator may be gone by now: what was matched needs it no more. Hot.
#include "pmpi/life/failure.h"
#include "pmpi/p2p/mprobe.h"
#include "pmpi/report/message_counts.h"
#include "pmpi/p2p/message_requests.h"

// Native raises its error where the message belongs to: it gets one that it knows. The program keeps its own.
static int raise_natively(const struct co_message_buffer *buffer, const struct co_communicator *communicator,
                          bool is_blocking)
{
    bool has_communicator = communicator->comm != co_next.comm_null;
    MPI_Comm comm = has_communicator ? communicator->comm : co_process.self;
    MPI_Message message;
    MPI_Request request = co_next.request_null;
    int code = co_mprobe_make(&message, comm, has_communicator ? communicator->seed.rank : 0);
    if (code != MPI_SUCCESS) {
        return code; // raised
    }
    if (is_blocking) {
        code = co_next.Mrecv(buffer->address, buffer->count, buffer->type, &message, MPI_STATUS_IGNORE);
    } else {
        code = co_next.Imrecv(buffer->address, buffer->count, buffer->type, &message, &request);
    }
    if (message != co_next.message_null) {
        co_next.Mrecv(NULL, 0, co_next.byte, &message, MPI_STATUS_IGNORE);
    }
    if (request != co_next.request_null) {
        co_next.Wait(&request, MPI_STATUS_IGNORE);
    }
    return has_communicator && code != MPI_SUCCESS
               ? code
               : co_failure_raise_code(communicator->comm, is_blocking ? "MPI_Mrecv" : "MPI_Imrecv",
                                       code != MPI_SUCCESS ? code : MPI_ERR_OTHER);
}

// A handle whose message has been received is no message.
static int raise_used(const char *call)
{
    return co_failure_raise_code(co_next.comm_null, call, MPI_ERR_REQUEST);
}

// The handle is gone; the communicator stays held.
static struct co_p2p_message *consume(struct co_matched *matched, MPI_Message *handle)
{
    struct co_p2p_message *message = matched->message;
    co_mprobe_give(matched);
    *handle = co_next.message_null;
    return message;
}

static int receive(struct co_message_buffer *buffer, struct co_matched *matched, MPI_Message *handle,
                   MPI_Status *status)
{
    struct co_communicator *communicator = matched->communicator;
    int error = co_message_make_room(buffer, false);
    if (error != 0) { // the message stays
        co_message_release(buffer);
        return co_failure_raise(communicator->comm, "MPI_Mrecv", error);
    }
    struct co_p2p_receive operation;
    operation.node.source = matched->info.source;
    operation.node.tag = matched->info.tag;
    co_message_fill_receive(&operation, buffer);
    operation.in_background = false;
    operation.on_done = NULL;
    co_p2p_receive_taken(&operation, consume(matched, handle));
    co_message_wait_received(&operation, "MPI_Mrecv");
    error = co_message_unpack(buffer, &operation);
    co_message_fill_status(status, operation.source, operation.tag, operation.bytes, false);
    co_message_release(buffer);
    MPI_Comm comm = communicator->comm;
    co_communicator_drop(communicator); // before an error is raised: the program's handler may not come back
    return error == 0 ? MPI_SUCCESS : co_failure_raise(comm, "MPI_Mrecv", error);
}

int PMPI_Mrecv(void *address, int count, MPI_Datatype type, MPI_Message *handle, MPI_Status *status)
{
    struct co_matched *matched = handle == NULL ? NULL : co_mprobe_find(*handle);
    if (matched == NULL) {
        return co_message_declined_handle(CO_MESSAGE_Mrecv,
                                          co_next_mpi_get()->Mrecv(address, count, type, handle, status));
    }
    struct co_message_buffer buffer = {.address = address, .count = count, .type = type};
    if (matched->message == NULL) {
        return raise_used("MPI_Mrecv");
    }
    if (!co_message_read_buffer(&buffer, false)) {
        return co_message_declined_for(CO_MESSAGE_Mrecv, CO_BAD_ARGUMENT,
                                       raise_natively(&buffer, matched->communicator, true));
    }
    co_message_taken(CO_MESSAGE_Mrecv, buffer.bytes);
    return receive(&buffer, matched, handle, status);
}

int PMPI_Imrecv(void *address, int count, MPI_Datatype type, MPI_Message *handle, MPI_Request *request)
{
    struct co_matched *matched = handle == NULL || request == NULL ? NULL : co_mprobe_find(*handle);
    if (matched == NULL) {
        return co_message_declined_handle(CO_MESSAGE_Imrecv,
                                          co_next_mpi_get()->Imrecv(address, count, type, handle, request));
    }
    struct co_message_buffer buffer = {.address = address, .count = count, .type = type};
    if (matched->message == NULL) {
        return raise_used("MPI_Imrecv");
    }
    if (!co_message_read_buffer(&buffer, false)) {
        return co_message_declined_for(CO_MESSAGE_Imrecv, CO_BAD_ARGUMENT,
                                       raise_natively(&buffer, matched->communicator, false));
    }
    co_message_taken(CO_MESSAGE_Imrecv, buffer.bytes);
    struct co_communicator *communicator = matched->communicator;
    int code = co_message_imrecv(&buffer, matched->message, communicator, request);
    if (code == MPI_SUCCESS) {
        consume(matched, handle);
        co_communicator_drop(communicator); // the request holds it
    }
    return code;
}
