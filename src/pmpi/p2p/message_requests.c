// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a send or a receive behind a request. Buffers are finished by the completing call, for unpacking is
// native's. Hot; any thread.
#include "pmpi/p2p/message_requests.h"

#include "pmpi/life/failure.h"
#include "pmpi/p2p/freed_receives.h"
#include "pmpi/p2p/message_pool.h"

#include <errno.h>

// An operation begins with its send or receive.
static bool send_is_done(const void *operation)
{
    return co_p2p_send_is_done(&((const struct co_message_operation *)operation)->p2p.send);
}

static int settle_send(void *operation)
{
    return ((struct co_message_operation *)operation)->p2p.send.result;
}

// As native leaves it (measured): the sender's own rank, the tag, the bytes.
static void fill_send_status(const void *operation, MPI_Status *status)
{
    const struct co_p2p_send *send = &((const struct co_message_operation *)operation)->p2p.send;
    co_message_fill_status(status, send->own_rank, send->tag, send->bytes, false);
}

// Its memory stays with the request: who starts one starts many.
static void release(void *operation)
{
    struct co_message_operation *message = operation;
    if (message->buffer.packed != NULL || message->buffer.held_type != co_next.datatype_null) {
        co_message_release(&message->buffer);
    }
    message->request->kept = message;
}

static void send_has_ended(struct co_p2p_send *send)
{
    co_message_release(&((struct co_message_operation *)send)->buffer); // it holds no type
    co_message_pool_give((struct co_message_operation *)send);
}

static bool detach_send(void *operation)
{
    struct co_message_operation *message = operation;
    return co_p2p_send_detach(&message->p2p.send, send_has_ended);
}

// A send is never cancelled, as natively.
static void cancel_send(void *operation)
{
    (void)operation;
}

static bool receive_is_done(const void *operation)
{
    return co_p2p_receive_is_done(&((const struct co_message_operation *)operation)->p2p.receive);
}

static int settle_receive(void *operation)
{
    struct co_message_operation *message = operation;
    return co_message_unpack(&message->buffer, &message->p2p.receive);
}

static void fill_receive_status(const void *operation, MPI_Status *status)
{
    const struct co_p2p_receive *receive = &((const struct co_message_operation *)operation)->p2p.receive;
    co_message_fill_status(status, receive->source, receive->tag, receive->bytes, receive->result == -ECANCELED);
}

// Who only posts and cancels makes no other call that moves anything: what is to be received would not come in ever.
static void cancel_receive(void *operation)
{
    if (!receive_is_done(operation)) {
        co_engine_poll(co_process.engine);
    }
    co_p2p_cancel(&((struct co_message_operation *)operation)->p2p.receive);
}

static const struct co_request_kind send_kind = {.call = "MPI_Isend",
                                                 .is_message = true,
                                                 .is_done = send_is_done,
                                                 .settle = settle_send,
                                                 .fill_status = fill_send_status,
                                                 .release = release,
                                                 .cancel = cancel_send,
                                                 .detach = detach_send,
                                                 .describe = co_message_describe_send};

static const struct co_request_kind receive_kind = {.call = "MPI_Irecv",
                                                    .is_message = true,
                                                    .is_done = receive_is_done,
                                                    .settle = settle_receive,
                                                    .fill_status = fill_receive_status,
                                                    .release = release,
                                                    .cancel = cancel_receive,
                                                    .detach = co_freed_receive_detach,
                                                    .describe = co_message_describe_receive};

static const struct co_request_kind matched_receive_kind = {.call = "MPI_Imrecv",
                                                            .is_message = true,
                                                            .is_done = receive_is_done,
                                                            .settle = settle_receive,
                                                            .fill_status = fill_receive_status,
                                                            .release = release,
                                                            .cancel = cancel_receive,
                                                            .detach = co_freed_receive_detach};

// Receives whose bytes lie in a row have no buffer beside the engine's.
static int settle_plain(void *operation)
{
    const struct co_p2p_receive *receive = &((const struct co_message_operation *)operation)->p2p.receive;
    int error = receive->result == -ECANCELED ? 0 : receive->result;
    return error == 0 && receive->bytes > receive->room ? -EMSGSIZE : error;
}

static void release_plain(void *operation)
{
    struct co_message_operation *message = operation;
    message->request->kept = message;
}

static int conclude_plain(struct co_mpi_request *request, MPI_Status *status)
{
    int error = settle_plain(request->operation);
    if (status != MPI_STATUS_IGNORE) {
        fill_receive_status(request->operation, status);
    }
    request->kept = request->operation;
    return error;
}

static bool detach_plain(void *operation)
{
    struct co_message_operation *message = operation;
    message->buffer.packed = NULL;
    message->buffer.map = NULL;
    message->buffer.held_type = co_next.datatype_null;
    return co_freed_receive_detach(message);
}

static const struct co_request_kind plain_receive_kind = {.call = "MPI_Irecv",
                                                          .is_message = true,
                                                          .is_done = receive_is_done,
                                                          .settle = settle_plain,
                                                          .fill_status = fill_receive_status,
                                                          .release = release_plain,
                                                          .conclude = conclude_plain,
                                                          .cancel = cancel_receive,
                                                          .detach = detach_plain,
                                                          .describe = co_message_describe_receive};

// Memory that belongs to the request until a detached operation takes it along; so does its name. NULL: none.
static struct co_message_operation *make_plain(struct co_mpi_request *request)
{
    struct co_message_operation *message = request->kept;
    if (message == NULL) {
        message = co_message_pool_take();
        if (message != NULL) {
            message->request = request;
        }
    }
    request->kept = NULL;
    return message;
}

static struct co_message_operation *make(struct co_mpi_request *request, const struct co_message_buffer *buffer)
{
    struct co_message_operation *message = make_plain(request);
    if (message != NULL) {
        message->buffer = *buffer;
    }
    return message;
}

int co_message_start_send(struct co_mpi_request *request, const struct co_message_buffer *buffer, int destination,
                          int tag, struct co_communicator *communicator, bool is_synchronous)
{
    struct co_message_operation *message = make(request, buffer);
    int error = message == NULL ? -ENOMEM : co_message_pack_later(&message->buffer);
    if (error != 0) {
        if (message != NULL) {
            release(message);
        }
        return error;
    }
    message->p2p.send = (struct co_p2p_send){.context = communicator->messages,
                                             .destination = destination,
                                             .tag = tag,
                                             .own_rank = communicator->seed.rank,
                                             .is_synchronous = is_synchronous,
                                             .in_background = true};
    co_message_fill_send(&message->p2p.send, &message->buffer);
    co_request_start(request, &send_kind, message, communicator);
    co_p2p_send(&message->p2p.send);
    return 0;
}

// A receive with a buffer: 0 or -ENOMEM.
static int make_receive(struct co_message_operation **out, struct co_mpi_request *request,
                        const struct co_message_buffer *buffer, const struct co_communicator *communicator)
{
    struct co_message_operation *message = *out = make(request, buffer);
    int error = message == NULL ? -ENOMEM : co_message_make_room(&message->buffer, true);
    if (error != 0) {
        if (message != NULL) {
            release(message);
        }
        return error;
    }
    message->p2p.receive = (struct co_p2p_receive){.context = communicator->messages, .in_background = true};
    co_message_fill_receive(&message->p2p.receive, &message->buffer);
    return 0;
}

static inline int start_plain(struct co_mpi_request *request, void *buffer, size_t bytes, int source, int tag,
                              struct co_communicator *communicator)
{
    struct co_message_operation *message = make_plain(request);
    if (message == NULL) {
        return -ENOMEM;
    }
    struct co_p2p_receive *receive = &message->p2p.receive;
    receive->context = communicator->messages;
    receive->buffer = buffer;
    receive->room = bytes;
    receive->in_background = true;
    receive->on_done = NULL;
    receive->on_bytes = NULL;
    co_request_start(request, &plain_receive_kind, message, communicator);
    co_p2p_receive(receive, co_message_wildcard(source, MPI_ANY_SOURCE), co_message_wildcard(tag, MPI_ANY_TAG));
    return 0;
}

int co_message_start_receive(struct co_mpi_request *request, const struct co_message_buffer *buffer, int source,
                             int tag, struct co_communicator *communicator)
{
    if (co_message_lies_in_a_row(buffer)) {
        return start_plain(request, buffer->address, buffer->bytes, source, tag, communicator);
    }
    struct co_message_operation *message;
    int error = make_receive(&message, request, buffer, communicator);
    if (error == 0) {
        co_request_start(request, &receive_kind, message, communicator);
        co_p2p_receive(&message->p2p.receive, co_message_wildcard(source, MPI_ANY_SOURCE),
                       co_message_wildcard(tag, MPI_ANY_TAG));
    }
    return error;
}

static int conclude(struct co_mpi_request *request, int error, const struct co_communicator *communicator,
                    const char *call, MPI_Request *handle)
{
    if (error == 0) {
        *handle = request->handle;
        return MPI_SUCCESS;
    }
    if (request != NULL) {
        co_request_handles_give(request);
    }
    return co_failure_raise(communicator->comm, call, error);
}

int co_message_isend(const struct co_message_buffer *buffer, int destination, int tag,
                     struct co_communicator *communicator, bool is_synchronous, const char *call, MPI_Request *handle)
{
    MPI_Request done = co_request_handles_done();
    if (!is_synchronous && done != co_next.request_null &&
        co_message_leaves_now(buffer, destination, tag, communicator)) {
        *handle = done;
        return MPI_SUCCESS;
    }
    struct co_mpi_request *request = co_request_handles_take();
    int error = request == NULL
                    ? -ENOMEM
                    : co_message_start_send(request, buffer, destination, tag, communicator, is_synchronous);
    return conclude(request, error, communicator, call, handle);
}

int co_message_irecv(const struct co_message_buffer *buffer, int source, int tag, struct co_communicator *communicator,
                     MPI_Request *handle)
{
    struct co_mpi_request *request = co_request_handles_take();
    if (request != NULL && co_message_lies_in_a_row(buffer) &&
        start_plain(request, buffer->address, buffer->bytes, source, tag, communicator) == 0) {
        *handle = request->handle;
        return MPI_SUCCESS;
    }
    int error = request == NULL ? -ENOMEM : co_message_start_receive(request, buffer, source, tag, communicator);
    return conclude(request, error, communicator, "MPI_Irecv", handle);
}

int co_message_imrecv(const struct co_message_buffer *buffer, struct co_p2p_message *message,
                      struct co_communicator *communicator, MPI_Request *handle)
{
    struct co_mpi_request *request = co_request_handles_take();
    struct co_message_operation *operation;
    int error = request == NULL ? -ENOMEM : make_receive(&operation, request, buffer, communicator);
    if (error == 0) {
        co_request_start(request, &matched_receive_kind, operation, communicator);
        co_p2p_receive_taken(&operation->p2p.receive, message);
    }
    return conclude(request, error, communicator, "MPI_Imrecv", handle);
}
