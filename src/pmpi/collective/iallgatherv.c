// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Iallgatherv. The receive type is held when it is needed at the end, as are counts and places. Hot.
#include "pmpi/collective/gatherv_buffers.h"
#include "pmpi/collective/nonblocking.h"

struct gather {
    struct co_nonblocking common;
    struct co_gatherv_call call;
    struct co_gatherv_buffers buffers;
    bool is_row; // then by these, and not those above
    struct co_gather_call row;
    struct co_gather_buffers row_buffers;
};

static int start_row(struct gather *gather)
{
    gather->row = co_gatherv_as_gather(&gather->call);
    int error = co_gather_buffers_open(&gather->row_buffers, &gather->row);
    if (error == 0 && gather->row_buffers.packed_all != NULL) {
        error = co_nonblocking_hold_type(&gather->common, &gather->row.receive_type);
    }
    const struct co_gather_buffers *buffers = &gather->row_buffers;
    return error != 0 ? error
                      : co_team_iallgather(&gather->common.task, gather->common.communicator->team, buffers->mine,
                                           buffers->all, gather->row.block_bytes);
}

static int start(void *operation)
{
    struct gather *gather = operation;
    const struct co_gatherv_call *call = &gather->call;
    gather->is_row = co_gatherv_is_row(call);
    if (gather->is_row) {
        return start_row(gather);
    }
    int error = co_gatherv_buffers_open(&gather->buffers, call);
    if (error == 0 && gather->buffers.packed != NULL) {
        error = co_nonblocking_hold_type(&gather->common, &gather->call.receive_type);
    }
    if (error != 0) {
        return error;
    }
    struct co_team *team = call->communicator->team;
    return call->is_equal
               ? co_team_iallgather(&gather->common.task, team, NULL, gather->buffers.packed, call->block_bytes)
               : co_team_iallgatherv(&gather->common.task, team, gather->buffers.parts);
}

static int deliver(void *operation, int error)
{
    struct gather *gather = operation;
    if (error != 0) {
        return error;
    }
    return gather->is_row ? co_gather_buffers_deliver(&gather->row_buffers, &gather->row)
                          : co_gatherv_buffers_deliver(&gather->buffers, &gather->call);
}

static void close(void *operation)
{
    struct gather *gather = operation;
    co_gather_buffers_close(&gather->row_buffers);
    co_gatherv_buffers_close(&gather->buffers);
}

static const struct co_nonblocking_kind kind = {.request = CO_NONBLOCKING_REQUEST("MPI_Iallgatherv"),
                                                .operation_bytes = sizeof(struct gather),
                                                .start = start,
                                                .deliver = deliver,
                                                .close = close};

int PMPI_Iallgatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive, const int counts[],
                     const int places[], MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Iallgatherv(send, send_count, send_type, receive, counts, places, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLGATHERV);
    struct gather gather = {.common = {.kind = &kind, .ticket = ticket},
                            .call = {.send = send,
                                     .send_count = send_count,
                                     .send_type = send_type,
                                     .receive = receive,
                                     .counts = counts,
                                     .places = places,
                                     .receive_type = receive_type}};
    enum co_reason reason = co_gatherv_route(&gather.call, comm, CO_CALL_IALLGATHERV);
    if (reason == CO_TAKE) {
        gather.common.communicator = gather.call.communicator;
        gather.common.bytes = gather.call.block_bytes;
        return co_nonblocking_take(&gather.common, comm, handle);
    }
    int code = co_next.Iallgatherv(send, send_count, send_type, receive, counts, places, receive_type, comm, handle);
    if (ticket.began_ns != 0) {
        co_route_end(&ticket, reason, comm, co_gatherv_mean_count(counts, comm, code), receive_type, code);
    }
    return code;
}

CO_EXPORT(Iallgatherv);
