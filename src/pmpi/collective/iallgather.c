// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Iallgather. The receive type is held when it is needed at the end. Hot.
#include "pmpi/collective/gather_buffers.h"
#include "pmpi/collective/nonblocking.h"

struct gather {
    struct co_nonblocking common;
    struct co_gather_call call;
    struct co_gather_buffers buffers;
};

static int start(void *operation)
{
    struct gather *gather = operation;
    int error = co_gather_buffers_open(&gather->buffers, &gather->call);
    if (error == 0 && gather->buffers.packed_all != NULL) {
        error = co_nonblocking_hold_type(&gather->common, &gather->call.receive_type);
    }
    return error != 0 ? error
                      : co_team_iallgather(&gather->common.task, gather->call.communicator->team, gather->buffers.mine,
                                           gather->buffers.all, gather->call.block_bytes);
}

static int deliver(void *operation, int error)
{
    struct gather *gather = operation;
    return error != 0 ? error : co_gather_buffers_deliver(&gather->buffers, &gather->call);
}

static void close(void *operation)
{
    struct gather *gather = operation;
    co_gather_buffers_close(&gather->buffers);
}

static const struct co_nonblocking_kind kind = {.request = CO_NONBLOCKING_REQUEST("MPI_Iallgather"),
                                                .operation_bytes = sizeof(struct gather),
                                                .start = start,
                                                .deliver = deliver,
                                                .close = close};

int PMPI_Iallgather(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                    MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Iallgather(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLGATHER);
    struct gather gather = {.common = {.kind = &kind, .ticket = ticket},
                            .call = {.send = send,
                                     .send_count = send_count,
                                     .send_type = send_type,
                                     .receive = receive,
                                     .receive_count = receive_count,
                                     .receive_type = receive_type}};
    enum co_reason reason = co_gather_route(&gather.call, comm, CO_CALL_IALLGATHER);
    if (reason == CO_TAKE) {
        gather.common.communicator = gather.call.communicator;
        gather.common.bytes = gather.call.block_bytes;
        return co_nonblocking_take(&gather.common, comm, handle);
    }
    int code = co_next.Iallgather(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

CO_EXPORT(Iallgather);
