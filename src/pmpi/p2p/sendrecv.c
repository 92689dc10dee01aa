// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Sendrecv and MPI_Sendrecv_replace. The receive is posted before the message goes, so that two ranks that talk to
// each other, or one to itself, never wait for nothing. Hot.
#include "base/buffer_cache.h"
#include "base/memory/memory_copy.h"
#include "pmpi/life/failure.h"
#include "pmpi/report/message_counts.h"
#include "pmpi/p2p/messages.h"

#include <errno.h>
#include <string.h>

#define COPY_ON_STACK 512 // bytes of a message that is replaced

static void post(struct co_message_exchange *exchange, struct co_p2p_receive *receive)
{
    receive->context = exchange->communicator->messages;
    co_message_fill_receive(receive, &exchange->in);
    receive->in_background = false;
    receive->on_done = NULL;
    co_p2p_receive(receive, co_message_wildcard(exchange->source, MPI_ANY_SOURCE),
                   co_message_wildcard(exchange->receive_tag, MPI_ANY_TAG));
}

static int send(struct co_message_exchange *exchange)
{
    struct co_p2p_send send;
    send.context = exchange->communicator->messages;
    co_message_fill_send(&send, &exchange->out);
    send.destination = exchange->destination;
    send.tag = exchange->send_tag;
    send.is_synchronous = false;
    send.in_background = false;
    send.on_done = NULL;
    co_p2p_send(&send);
    co_message_wait_sent(&send, exchange->call);
    return send.result;
}

// Both buffers are ready.
static int run(struct co_message_exchange *exchange, MPI_Status *status)
{
    struct co_p2p_receive receive;
    bool receives = exchange->source != MPI_PROC_NULL;
    if (receives) {
        post(exchange, &receive);
    }
    int error = exchange->destination == MPI_PROC_NULL ? 0 : send(exchange);
    if (!receives) {
        co_message_fill_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
        return error;
    }
    co_message_wait_received(&receive, exchange->call);
    int receive_error = co_message_unpack(&exchange->in, &receive);
    co_message_fill_status(status, receive.source, receive.tag, receive.bytes, false);
    return error != 0 ? error : receive_error;
}

static int finish(struct co_message_exchange *exchange, int error)
{
    co_message_release(&exchange->out);
    co_message_release(&exchange->in);
    return error == 0 ? MPI_SUCCESS : co_failure_raise(exchange->communicator->comm, exchange->call, error);
}

int PMPI_Sendrecv(const void *send_address, int send_count, MPI_Datatype send_type, int destination, int send_tag,
                  void *address, int count, MPI_Datatype type, int source, int receive_tag, MPI_Comm comm,
                  MPI_Status *status)
{
    struct co_message_exchange exchange = {
        .out = {.address = (void *)(uintptr_t)send_address, .count = send_count, .type = send_type},
        .in = {.address = address, .count = count, .type = type},
        .destination = destination,
        .send_tag = send_tag,
        .source = source,
        .receive_tag = receive_tag,
        .call = "MPI_Sendrecv"};
    if (!co_message_route_exchange(&exchange, comm)) {
        return co_message_declined(CO_MESSAGE_Sendrecv, comm, destination,
                                   co_next_mpi_get()->Sendrecv(send_address, send_count, send_type, destination,
                                                               send_tag, address, count, type, source, receive_tag,
                                                               comm, status));
    }
    co_message_taken(CO_MESSAGE_Sendrecv, exchange.out.bytes);
    exchange.in.packed = NULL;
    exchange.in.map = NULL;
    exchange.in.held_type = co_next.datatype_null;
    int error = co_message_pack_later(&exchange.out);
    if (error == 0) {
        error = co_message_make_room(&exchange.in, false);
    }
    return finish(&exchange, error == 0 ? run(&exchange, status) : error);
}

// A copy of what goes, for the same place takes what comes.
static int copy_out(struct co_message_buffer *out, unsigned char on_stack[COPY_ON_STACK])
{
    int error = co_message_pack(out);
    if (error != 0 || out->packed != NULL || out->bytes == 0) {
        return error;
    }
    if (out->bytes <= COPY_ON_STACK) {
        co_memory_copy(on_stack, out->address, out->bytes);
        out->address = on_stack;
        return 0;
    }
    out->packed = co_buffer_cache_take(out->bytes);
    if (out->packed == NULL) {
        return -ENOMEM;
    }
    co_memory_copy(out->packed, out->address, out->bytes);
    return 0;
}

int PMPI_Sendrecv_replace(void *address, int count, MPI_Datatype type, int destination, int send_tag, int source,
                          int receive_tag, MPI_Comm comm, MPI_Status *status)
{
    unsigned char on_stack[COPY_ON_STACK];
    struct co_message_exchange exchange = {.out = {.address = address, .count = count, .type = type},
                                           .in = {.address = address, .count = count, .type = type},
                                           .destination = destination,
                                           .send_tag = send_tag,
                                           .source = source,
                                           .receive_tag = receive_tag,
                                           .call = "MPI_Sendrecv_replace"};
    if (!co_message_route_exchange(&exchange, comm)) {
        return co_message_declined(CO_MESSAGE_Sendrecv_replace, comm, destination,
                                   co_next_mpi_get()->Sendrecv_replace(address, count, type, destination, send_tag,
                                                                       source, receive_tag, comm, status));
    }
    co_message_taken(CO_MESSAGE_Sendrecv_replace, exchange.out.bytes);
    exchange.in.packed = NULL;
    exchange.in.map = NULL;
    exchange.in.held_type = co_next.datatype_null;
    int error = copy_out(&exchange.out, on_stack);
    if (error == 0) {
        error = co_message_make_room(&exchange.in, false);
    }
    return finish(&exchange, error == 0 ? run(&exchange, status) : error);
}
