// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Isendrecv and MPI_Isendrecv_replace (MPI 4): a receive and a send behind one request. Each half is an operation
// behind a request of its own, which the program does not see; both are completed when the program's is.
#include "base/buffer_cache.h"
#include "base/memory/memory_copy.h"
#include "pmpi/life/failure.h"
#include "pmpi/p2p/message_requests.h"
#include "pmpi/report/message_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct exchange {
    struct co_mpi_request *receive, *send; // NULL: there is none, or it is complete
    MPI_Status status;
    void *copy; // of what is sent, where the same place takes what comes
};

static bool is_over(const struct co_mpi_request *half)
{
    return half == NULL || co_request_is_done(half);
}

static bool exchange_is_done(const void *operation)
{
    const struct exchange *exchange = operation;
    return is_over(exchange->receive) && is_over(exchange->send);
}

static void complete(struct co_mpi_request **half, MPI_Status *status, struct co_request_failure *failure)
{
    if (*half != NULL) {
        MPI_Request handle = (*half)->handle;
        co_request_complete_entry(&handle, *half, status, 0, failure);
        *half = NULL;
    }
}

static int settle(void *operation)
{
    struct exchange *exchange = operation;
    struct co_request_failure failure = {.error = 0};
    complete(&exchange->receive, &exchange->status, &failure);
    complete(&exchange->send, MPI_STATUSES_IGNORE, &failure);
    return failure.error;
}

static void fill_status(const void *operation, MPI_Status *status)
{
    const struct exchange *exchange = operation;
    int kept = status->MPI_ERROR;
    *status = exchange->status;
    status->MPI_ERROR = kept;
}

static void release(void *operation)
{
    struct exchange *exchange = operation;
    if (exchange->copy != NULL) {
        co_buffer_cache_give(exchange->copy);
    }
    free(exchange);
}

static void describe(const void *operation, char *text, size_t room)
{
    const struct exchange *exchange = operation;
    const struct co_mpi_request *half = is_over(exchange->receive) ? exchange->send : exchange->receive;
    if (half == exchange->receive) {
        co_message_describe_receive(half->operation, text, room);
    } else if (half != NULL) {
        co_message_describe_send(half->operation, text, room);
    }
}

// It can be neither cancelled nor freed while it is under way, as natively (Open MPI 5.0).
static const struct co_request_kind kinds[] = {{.call = "MPI_Isendrecv",
                                                .is_message = true,
                                                .is_done = exchange_is_done,
                                                .settle = settle,
                                                .fill_status = fill_status,
                                                .release = release,
                                                .describe = describe},
                                               {.call = "MPI_Isendrecv_replace",
                                                .is_message = true,
                                                .is_done = exchange_is_done,
                                                .settle = settle,
                                                .fill_status = fill_status,
                                                .release = release,
                                                .describe = describe}};

// The bytes that go, in a row, for the same place takes what comes.
static int copy_out(struct exchange *exchange, struct co_message_buffer *out)
{
    struct co_message_buffer packed = *out;
    int error = co_message_pack(&packed);
    exchange->copy = packed.packed; // to be given back on failure, too
    if (error != 0) {
        return error;
    }
    exchange->copy = exchange->copy != NULL ? exchange->copy : co_buffer_cache_take(out->bytes);
    if (exchange->copy == NULL) {
        return -ENOMEM;
    }
    if (packed.packed == NULL) {
        co_memory_copy(exchange->copy, out->address, out->bytes);
    }
    out->address = exchange->copy;
    out->facts.is_contiguous = true;
    return 0;
}

static int start_send(struct exchange *exchange, struct co_message_exchange *call)
{
    exchange->send = co_request_handles_take();
    if (exchange->send == NULL) {
        return -ENOMEM;
    }
    int error =
        co_message_start_send(exchange->send, &call->out, call->destination, call->send_tag, call->communicator, false);
    if (error != 0) {
        co_request_handles_give(exchange->send);
        exchange->send = NULL;
    }
    return error;
}

static int start_receive(struct exchange *exchange, const struct co_message_exchange *call)
{
    exchange->receive = co_request_handles_take();
    if (exchange->receive == NULL) {
        return -ENOMEM;
    }
    int error =
        co_message_start_receive(exchange->receive, &call->in, call->source, call->receive_tag, call->communicator);
    if (error != 0) {
        co_request_handles_give(exchange->receive);
        exchange->receive = NULL;
    }
    return error;
}

// What has arrived for it before the send failed, arrives still.
static void take_back(struct exchange *exchange, const char *call)
{
    if (exchange->receive != NULL) {
        co_request_cancel(exchange->receive);
        co_request_wait(exchange->receive, call);
    }
    settle(exchange);
}

static int start(struct exchange *exchange, struct co_message_exchange *call, bool replaces)
{
    bool copies = replaces && call->destination != MPI_PROC_NULL && call->out.bytes > 0;
    int error = copies ? copy_out(exchange, &call->out) : 0;
    co_message_fill_status(&exchange->status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
    if (error == 0 && call->source != MPI_PROC_NULL) {
        error = start_receive(exchange, call); // what has come already lies in its place at once
    }
    if (error == 0 && call->destination != MPI_PROC_NULL) {
        error = start_send(exchange, call);
    }
    if (error != 0) {
        take_back(exchange, call->call);
    }
    return error;
}

static int run(struct co_message_exchange *call, bool replaces, MPI_Request *handle)
{
    struct co_mpi_request *request = co_request_handles_take();
    struct exchange *exchange = request == NULL ? NULL : calloc(1, sizeof *exchange);
    int error = exchange == NULL ? -ENOMEM : start(exchange, call, replaces);
    if (error == 0) {
        co_request_start(request, &kinds[replaces], exchange, call->communicator);
        *handle = request->handle;
        return MPI_SUCCESS;
    }
    if (exchange != NULL) {
        release(exchange);
    }
    if (request != NULL) {
        co_request_handles_give(request);
    }
    return co_failure_raise(call->communicator->comm, call->call, error);
}

int PMPI_Isendrecv(const void *send_address, int send_count, MPI_Datatype send_type, int destination, int send_tag,
                   void *address, int count, MPI_Datatype type, int source, int receive_tag, MPI_Comm comm,
                   MPI_Request *handle)
{
    struct co_message_exchange call = {
        .out = {.address = (void *)(uintptr_t)send_address, .count = send_count, .type = send_type},
        .in = {.address = address, .count = count, .type = type},
        .destination = destination,
        .send_tag = send_tag,
        .source = source,
        .receive_tag = receive_tag,
        .call = "MPI_Isendrecv"};
    if (handle == NULL || !co_message_route_exchange(&call, comm)) {
        return co_message_declined(CO_MESSAGE_Isendrecv, comm, destination,
                                   co_next_mpi_get()->Isendrecv(send_address, send_count, send_type, destination,
                                                                send_tag, address, count, type, source, receive_tag,
                                                                comm, handle));
    }
    co_message_taken(CO_MESSAGE_Isendrecv, call.out.bytes);
    return run(&call, false, handle);
}

int PMPI_Isendrecv_replace(void *address, int count, MPI_Datatype type, int destination, int send_tag, int source,
                           int receive_tag, MPI_Comm comm, MPI_Request *handle)
{
    struct co_message_exchange call = {.out = {.address = address, .count = count, .type = type},
                                       .in = {.address = address, .count = count, .type = type},
                                       .destination = destination,
                                       .send_tag = send_tag,
                                       .source = source,
                                       .receive_tag = receive_tag,
                                       .call = "MPI_Isendrecv_replace"};
    if (handle == NULL || !co_message_route_exchange(&call, comm)) {
        return co_message_declined(CO_MESSAGE_Isendrecv_replace, comm, destination,
                                   co_next_mpi_get()->Isendrecv_replace(address, count, type, destination, send_tag,
                                                                        source, receive_tag, comm, handle));
    }
    co_message_taken(CO_MESSAGE_Isendrecv_replace, call.out.bytes);
    return run(&call, true, handle);
}
