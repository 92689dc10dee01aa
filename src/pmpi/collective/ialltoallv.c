// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Ialltoallv and MPIX_Alltoallv_init. Types and arrays are held when they are needed at the end. Hot.
#include "pmpi/collective/alltoallv_buffers.h"
#include "pmpi/collective/offloaded.h"
#include "pmpi/collective/gatherv_buffers.h"
#include "pmpi/collective/persistent_collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct exchange {
    struct co_nonblocking common;
    struct co_alltoallv_call call;
    struct co_alltoallv_buffers buffers;
};

static int exchangev_open(void *operation)
{
    struct exchange *exchange = operation;
    return co_alltoallv_buffers_open(&exchange->buffers, &exchange->call);
}

static int exchangev_fill(void *operation)
{
    const struct exchange *exchange = operation;
    return co_alltoallv_buffers_fill(&exchange->buffers, &exchange->call);
}

static char *keep_side(struct co_alltoallv_side *side, char *copies, size_t bytes)
{
    side->counts = memcpy(copies, side->counts, bytes);
    side->places = memcpy(copies + bytes, side->places, bytes);
    return copies + 2 * bytes;
}

static int keep_arrays(struct exchange *exchange)
{
    struct co_alltoallv_call *call = &exchange->call;
    size_t bytes = (size_t)call->communicator->seed.facts.ranks * sizeof(int);
    char *copies = malloc(4 * bytes);
    if (copies == NULL) {
        return -ENOMEM;
    }
    exchange->common.held_arrays = copies;
    copies = keep_side(&call->receive, copies, bytes);
    if (call->send_buffer != MPI_IN_PLACE) {
        keep_side(&call->send, copies, bytes);
    }
    return 0;
}

static int keep_receive_type(struct exchange *exchange)
{
    return co_nonblocking_hold_type(&exchange->common, &exchange->call.receive.type);
}

static int exchangev_keep(void *operation)
{
    struct exchange *exchange = operation;
    int error = keep_arrays(exchange);
    if (error == 0 && exchange->call.send_buffer != MPI_IN_PLACE) {
        error = co_nonblocking_hold_type(&exchange->common, &exchange->call.send.type);
    }
    return error == 0 ? keep_receive_type(exchange) : error;
}

static int exchangev_submit(struct co_proxied_call **out, const void *operation)
{
    const struct exchange *exchange = operation;
    return co_proxied_alltoallv(out, exchange->common.proxied_team, exchange->buffers.send, exchange->buffers.receive,
                                exchange->buffers.blocks);
}

static int exchangev_prepare(void *operation)
{
    struct exchange *exchange = operation;
    int error = exchangev_open(operation);
    return error == 0 && exchange->buffers.packed_receive != NULL ? keep_receive_type(exchange) : error;
}

static int exchangev_unpack(void *operation, int error, size_t given)
{
    (void)given;
    struct exchange *exchange = operation;
    return error != 0 ? error : co_alltoallv_buffers_unpack(&exchange->buffers, &exchange->call);
}

static void exchangev_close(void *operation)
{
    struct exchange *exchange = operation;
    co_alltoallv_buffers_close(&exchange->buffers);
}

static const struct co_nonblocking_kind kind = {CO_NONBLOCKING_REQUESTS("MPI_Ialltoallv", "MPIX_Alltoallv_init"),
                                                .operation_bytes = sizeof(struct exchange),
                                                .prepare = exchangev_prepare,
                                                .open = exchangev_open,
                                                .fill = exchangev_fill,
                                                .keep = exchangev_keep,
                                                .submit = exchangev_submit,
                                                .refuse = co_offloaded_refuse_exchange,
                                                .unpack = exchangev_unpack,
                                                .close = exchangev_close};

static struct exchange exchange_of(struct co_call_ticket ticket, const void *send, void *receive,
                                   const struct co_alltoallv_side *sending, const struct co_alltoallv_side *receiving)
{
    return (struct exchange){
        .common = {.kind = &kind, .ticket = ticket, .is_offloaded = true},
        .call = {.send_buffer = send, .receive_buffer = receive, .send = *sending, .receive = *receiving}};
}

static enum co_reason exchangev_route(struct exchange *exchange, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_alltoallv_route(&exchange->call, comm, which);
    exchange->common.communicator = exchange->call.communicator;
    exchange->common.bytes = exchange->call.mean_bytes;
    return reason;
}

int PMPI_Ialltoallv(const void *send, const int send_counts[], const int send_places[], MPI_Datatype send_type,
                    void *receive, const int counts[], const int places[], MPI_Datatype receive_type, MPI_Comm comm,
                    MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Ialltoallv(send, send_counts, send_places, send_type, receive, counts, places, receive_type,
                                  comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLTOALLV);
    struct co_alltoallv_side sending = {.counts = send_counts, .places = send_places, .type = send_type};
    struct co_alltoallv_side receiving = {.counts = counts, .places = places, .type = receive_type};
    struct exchange exchange = exchange_of(ticket, send, receive, &sending, &receiving);
    enum co_reason reason = exchangev_route(&exchange, comm, CO_CALL_IALLTOALLV);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&exchange.common, comm, handle);
    }
    int code = co_next.Ialltoallv(send, send_counts, send_places, send_type, receive, counts, places, receive_type,
                                  comm, handle);
    co_gatherv_end(&ticket, reason, comm, &(struct co_gatherv_call){.counts = counts, .receive_type = receive_type},
                   code);
    return code;
}

int PMPI_Alltoallv_init(const void *send, const int send_counts[], const int send_places[], MPI_Datatype send_type,
                        void *receive, const int counts[], const int places[], MPI_Datatype receive_type, MPI_Comm comm,
                        MPI_Info info, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Alltoallv_init(send, send_counts, send_places, send_type, receive, counts, places, receive_type,
                                      comm, info, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLTOALLV_INIT);
    struct co_alltoallv_side sending = {.counts = send_counts, .places = send_places, .type = send_type};
    struct co_alltoallv_side receiving = {.counts = counts, .places = places, .type = receive_type};
    struct exchange exchange = exchange_of(ticket, send, receive, &sending, &receiving);
    enum co_reason reason = exchangev_route(&exchange, comm, CO_CALL_ALLTOALLV_INIT);
    reason = co_persistent_collective_make(&exchange.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code = co_next.Alltoallv_init(send, send_counts, send_places, send_type, receive, counts, places, receive_type,
                                      comm, info, handle);
    co_gatherv_end(&ticket, reason, comm, &(struct co_gatherv_call){.counts = counts, .receive_type = receive_type},
                   code);
    return code;
}

CO_EXPORT_EARLIER(Alltoallv_init);
