// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Iallgather and MPIX_Allgather_init, by the engine or by proxies. The receive type is held when it is needed at
// the end. Hot.
#include "pmpi/collective/offloaded.h"
#include "pmpi/collective/gather_buffers.h"
#include "pmpi/collective/persistent_collectives.h"

#include "offload/collective/proxied_collective.h"

struct gather {
    struct co_nonblocking common;
    struct co_gather_call call;
    struct co_gather_buffers buffers;
};

static int gather_open(void *operation)
{
    struct gather *gather = operation;
    return co_gather_buffers_open(&gather->buffers, &gather->call);
}

static int gather_fill(void *operation)
{
    const struct gather *gather = operation;
    return co_gather_buffers_fill(&gather->buffers, &gather->call);
}

static int keep_receive_type(struct gather *gather)
{
    return co_nonblocking_hold_type(&gather->common, &gather->call.receive_type);
}

static int gather_keep(void *operation)
{
    struct gather *gather = operation;
    int error =
        gather->call.send == MPI_IN_PLACE ? 0 : co_nonblocking_hold_type(&gather->common, &gather->call.send_type);
    return error == 0 ? keep_receive_type(gather) : error;
}

static int gather_begin(void *operation)
{
    struct gather *gather = operation;
    return co_team_iallgather(&gather->common.task, gather->common.team, gather->common.ticket.call,
                              gather->buffers.mine, gather->buffers.all, gather->call.block_bytes);
}

static int gather_submit(struct co_proxied_call **out, const void *operation)
{
    const struct gather *gather = operation;
    return co_proxied_allgather(out, gather->common.proxied_team, gather->buffers.mine, gather->buffers.all,
                                gather->call.block_bytes);
}

static int gather_prepare(void *operation)
{
    struct gather *gather = operation;
    int error = gather_open(operation);
    return error == 0 && gather->buffers.packed_all != NULL ? keep_receive_type(gather) : error;
}

static int gather_unpack(void *operation, int error, size_t given)
{
    (void)given;
    struct gather *gather = operation;
    return error != 0 ? error : co_gather_buffers_unpack(&gather->buffers, &gather->call);
}

static void gather_close(void *operation)
{
    struct gather *gather = operation;
    co_gather_buffers_close(&gather->buffers);
}

static const struct co_nonblocking_kind kind = {CO_NONBLOCKING_REQUESTS("MPI_Iallgather", "MPIX_Allgather_init"),
                                                .operation_bytes = sizeof(struct gather),
                                                .prepare = gather_prepare,
                                                .open = gather_open,
                                                .fill = gather_fill,
                                                .keep = gather_keep,
                                                .begin = gather_begin,
                                                .submit = gather_submit,
                                                .refuse = co_offloaded_refuse_gather,
                                                .unpack = gather_unpack,
                                                .close = gather_close};

static struct gather gather_of(struct co_call_ticket ticket, const void *send, ptrdiff_t send_count,
                               MPI_Datatype send_type, void *receive, ptrdiff_t receive_count,
                               MPI_Datatype receive_type)
{
    return (struct gather){.common = {.kind = &kind, .ticket = ticket},
                           .call = {.send = send,
                                    .send_count = send_count,
                                    .send_type = send_type,
                                    .receive = receive,
                                    .receive_count = receive_count,
                                    .receive_type = receive_type}};
}

static enum co_reason gather_route(struct gather *gather, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_gather_route(&gather->call, comm, which);
    gather->common.communicator = gather->call.communicator;
    gather->common.bytes = gather->call.block_bytes;
    gather->common.is_offloaded = gather->call.is_by_proxies =
        co_route_by_proxies(gather->call.communicator, which, which, gather->call.block_bytes);
    return reason;
}

int PMPI_Iallgather(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                    MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Iallgather(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLGATHER);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, receive_count, receive_type);
    enum co_reason reason = gather_route(&gather, comm, CO_CALL_IALLGATHER);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&gather.common, comm, handle);
    }
    int code = co_next.Iallgather(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

int PMPI_Allgather_init(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                        MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Allgather_init(send, send_count, send_type, receive, receive_count, receive_type, comm, info,
                                      handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHER_INIT);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, receive_count, receive_type);
    enum co_reason reason = gather_route(&gather, comm, CO_CALL_ALLGATHER_INIT);
    reason = co_persistent_collective_make(&gather.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code =
        co_next.Allgather_init(send, send_count, send_type, receive, receive_count, receive_type, comm, info, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

CO_EXPORT_EARLIER(Allgather_init);

#ifdef CO_HAS_LARGE_COUNTS

int PMPI_Iallgather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                      MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Iallgather_c(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLGATHER);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, receive_count, receive_type);
    enum co_reason reason = gather_route(&gather, comm, CO_CALL_IALLGATHER);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&gather.common, comm, handle);
    }
    int code = co_next.Iallgather_c(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

int PMPI_Allgather_init_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                          MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info,
                          MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Allgather_init_c(send, send_count, send_type, receive, receive_count, receive_type, comm, info,
                                        handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHER_INIT);
    struct gather gather = gather_of(ticket, send, send_count, send_type, receive, receive_count, receive_type);
    enum co_reason reason = gather_route(&gather, comm, CO_CALL_ALLGATHER_INIT);
    reason = co_persistent_collective_make(&gather.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code =
        co_next.Allgather_init_c(send, send_count, send_type, receive, receive_count, receive_type, comm, info, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

#endif
