// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Iallgatherv and MPIX_Allgatherv_init, by the engine or by proxies. The receive type is held when it is needed at
// the end, as are counts and places. Hot.
#include "pmpi/collective/offloaded.h"
#include "pmpi/collective/gatherv_buffers.h"
#include "pmpi/collective/persistent_collectives.h"

#include "offload/collective/proxied_collective.h"

#include <errno.h>
#include <stdlib.h>

struct gather {
    struct co_nonblocking common;
    struct co_gatherv_call call;
    struct co_gatherv_buffers buffers;
    bool is_row; // then by these, and not those above
    struct co_gather_call row;
    struct co_gather_buffers row_buffers;
};

static int gatherv_open(void *operation)
{
    struct gather *gather = operation;
    gather->is_row = co_gatherv_is_row(&gather->call);
    if (!gather->is_row) {
        return co_gatherv_buffers_open(&gather->buffers, &gather->call);
    }
    gather->row = co_gatherv_as_gather(&gather->call);
    return co_gather_buffers_open(&gather->row_buffers, &gather->row);
}

static int gatherv_fill(void *operation)
{
    const struct gather *gather = operation;
    return gather->is_row ? co_gather_buffers_fill(&gather->row_buffers, &gather->row)
                          : co_gatherv_buffers_fill(&gather->buffers, &gather->call);
}

static int keep_arrays(struct gather *gather)
{
    int ranks = gather->call.communicator->seed.facts.ranks;
    MPI_Count *counts = malloc((size_t)ranks * (sizeof(MPI_Count) + sizeof(MPI_Aint)));
    MPI_Aint *places = (MPI_Aint *)(counts + ranks);
    if (counts == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < ranks; rank++) {
        counts[rank] = co_gatherv_count(&gather->call, rank);
        places[rank] = co_gatherv_place(&gather->call, rank);
    }
    gather->common.held_arrays = counts;
    gather->call.counts = gather->call.places = NULL;
    gather->call.large_counts = counts;
    gather->call.large_places = places;
    return 0;
}

static int gatherv_keep(void *operation)
{
    struct gather *gather = operation;
    int error = keep_arrays(gather);
    if (error == 0 && gather->call.send != MPI_IN_PLACE) {
        error = co_nonblocking_hold_type(&gather->common, &gather->call.send_type);
    }
    return error == 0 ? co_nonblocking_hold_type(&gather->common, &gather->call.receive_type) : error;
}

static int gatherv_begin(void *operation)
{
    struct gather *gather = operation;
    struct co_team *team = gather->common.team;
    enum co_call call = gather->common.ticket.call;
    const struct co_gather_buffers *row = &gather->row_buffers;
    if (gather->is_row) {
        return co_team_iallgather(&gather->common.task, team, call, row->mine, row->all, gather->row.block_bytes);
    }
    return gather->call.is_equal && gather->buffers.packed != NULL
               ? co_team_iallgather(&gather->common.task, team, call, NULL, gather->buffers.packed,
                                    gather->call.block_bytes)
               : co_team_iallgatherv(&gather->common.task, team, call, gather->buffers.blocks);
}

// The type that is needed at the end, if any.
static int hold_receive_type(struct gather *gather)
{
    if (gather->is_row && gather->row_buffers.packed_all != NULL) {
        return co_nonblocking_hold_type(&gather->common, &gather->row.receive_type);
    }
    return gather->buffers.packed != NULL ? co_nonblocking_hold_type(&gather->common, &gather->call.receive_type) : 0;
}

// Blocks as proxies want them; the own one is at its place.
static int begin_blocks(struct co_proxied_call **out, const struct gather *gather)
{
    int ranks = gather->call.communicator->seed.facts.ranks, self = gather->call.communicator->seed.rank;
    struct co_proxied_block *blocks = calloc((size_t)ranks, sizeof *blocks);
    if (blocks == NULL) {
        return -ENOMEM;
    }
    char *from = gather->buffers.packed != NULL ? gather->buffers.packed : gather->call.receive;
    for (int rank = 0; rank < ranks; rank++) {
        const struct co_block *block = &gather->buffers.blocks[rank];
        blocks[rank] =
            (struct co_proxied_block){.receive_at = (char *)block->buffer - from, .receive_bytes = block->bytes};
    }
    blocks[self].send_at = blocks[self].receive_at;
    blocks[self].send_bytes = blocks[self].receive_bytes;
    int error = co_proxied_allgatherv(out, gather->common.proxied_team, from, blocks);
    free(blocks);
    return error;
}

static int gatherv_submit(struct co_proxied_call **out, const void *operation)
{
    const struct gather *gather = operation;
    const struct co_gather_buffers *row = &gather->row_buffers;
    return gather->is_row
               ? co_proxied_allgather(out, gather->common.proxied_team, row->mine, row->all, gather->row.block_bytes)
               : begin_blocks(out, gather);
}

// The buffers of one operation have arrays of their own where they need any at its end.
static int gatherv_prepare(void *operation)
{
    int error = gatherv_open(operation);
    return error == 0 ? hold_receive_type(operation) : error;
}

static int gatherv_unpack(void *operation, int error, size_t given)
{
    struct gather *gather = operation;
    (void)given;
    if (error != 0) {
        return error;
    }
    return gather->is_row ? co_gather_buffers_unpack(&gather->row_buffers, &gather->row)
                          : co_gatherv_buffers_unpack(&gather->buffers, &gather->call);
}

static void gatherv_close(void *operation)
{
    struct gather *gather = operation;
    co_gather_buffers_close(&gather->row_buffers);
    co_gatherv_buffers_close(&gather->buffers);
}

static const struct co_nonblocking_kind kind = {CO_NONBLOCKING_REQUESTS("MPI_Iallgatherv", "MPIX_Allgatherv_init"),
                                                .operation_bytes = sizeof(struct gather),
                                                .prepare = gatherv_prepare,
                                                .open = gatherv_open,
                                                .fill = gatherv_fill,
                                                .keep = gatherv_keep,
                                                .begin = gatherv_begin,
                                                .submit = gatherv_submit,
                                                .refuse = co_offloaded_refuse_gather,
                                                .unpack = gatherv_unpack,
                                                .close = gatherv_close};

static struct gather gather_of(struct co_call_ticket ticket, const void *send, ptrdiff_t send_count,
                               MPI_Datatype send_type, void *receive, const int counts[], const int places[],
                               MPI_Datatype receive_type)
{
    return (struct gather){.common = {.kind = &kind, .ticket = ticket},
                           .call = {.send = send,
                                    .send_count = send_count,
                                    .send_type = send_type,
                                    .receive = receive,
                                    .counts = counts,
                                    .places = places,
                                    .receive_type = receive_type}};
}

static enum co_reason gatherv_route(struct gather *gather, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_gatherv_route(&gather->call, comm, which);
    gather->common.communicator = gather->call.communicator;
    gather->common.bytes = gather->call.block_bytes;
    gather->common.is_offloaded = gather->call.is_by_proxies;
    return reason;
}

int PMPI_Iallgatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive, const int counts[],
                     const int places[], MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Iallgatherv(send, send_count, send_type, receive, counts, places, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLGATHERV);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, counts, places, receive_type);
    enum co_reason reason = gatherv_route(&gather, comm, CO_CALL_IALLGATHERV);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&gather.common, comm, handle);
    }
    int code = co_next.Iallgatherv(send, send_count, send_type, receive, counts, places, receive_type, comm, handle);
    co_gatherv_end(&ticket, reason, comm, &gather.call, code);
    return code;
}

int PMPI_Allgatherv_init(const void *send, int send_count, MPI_Datatype send_type, void *receive, const int counts[],
                         const int places[], MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info,
                         MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Allgatherv_init(send, send_count, send_type, receive, counts, places, receive_type, comm, info,
                                       handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHERV_INIT);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, counts, places, receive_type);
    enum co_reason reason = gatherv_route(&gather, comm, CO_CALL_ALLGATHERV_INIT);
    reason = co_persistent_collective_make(&gather.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code =
        co_next.Allgatherv_init(send, send_count, send_type, receive, counts, places, receive_type, comm, info, handle);
    co_gatherv_end(&ticket, reason, comm, &gather.call, code);
    return code;
}

CO_EXPORT_EARLIER(Allgatherv_init);

#ifdef CO_HAS_LARGE_COUNTS

int PMPI_Iallgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                       const MPI_Count counts[], const MPI_Aint places[], MPI_Datatype receive_type, MPI_Comm comm,
                       MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Iallgatherv_c(send, send_count, send_type, receive, counts, places, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLGATHERV);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, NULL, NULL, receive_type);
    gather.call.large_counts = counts;
    gather.call.large_places = places;
    enum co_reason reason = gatherv_route(&gather, comm, CO_CALL_IALLGATHERV);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&gather.common, comm, handle);
    }
    int code = co_next.Iallgatherv_c(send, send_count, send_type, receive, counts, places, receive_type, comm, handle);
    co_gatherv_end(&ticket, reason, comm, &gather.call, code);
    return code;
}

int PMPI_Allgatherv_init_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                           const MPI_Count counts[], const MPI_Aint places[], MPI_Datatype receive_type, MPI_Comm comm,
                           MPI_Info info, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Allgatherv_init_c(send, send_count, send_type, receive, counts, places, receive_type, comm, info,
                                         handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHERV_INIT);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, NULL, NULL, receive_type);
    gather.call.large_counts = counts;
    gather.call.large_places = places;
    enum co_reason reason = gatherv_route(&gather, comm, CO_CALL_ALLGATHERV_INIT);
    reason = co_persistent_collective_make(&gather.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code = co_next.Allgatherv_init_c(send, send_count, send_type, receive, counts, places, receive_type, comm, info,
                                         handle);
    co_gatherv_end(&ticket, reason, comm, &gather.call, code);
    return code;
}

#endif
