// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Ibcast and MPIX_Bcast_init, by the engine or by proxies. The type is held when a packed copy is unpacked at the
// end. Hot.
#include "pmpi/collective/bcast_buffers.h"
#include "pmpi/collective/offloaded.h"
#include "pmpi/collective/persistent_collectives.h"

#include "offload/collective/proxied_collective.h"

struct broadcast {
    struct co_nonblocking common;
    struct co_bcast_call call;
    struct co_bcast_buffers buffers;
};

static int broadcast_open(void *operation)
{
    struct broadcast *broadcast = operation;
    return co_bcast_buffers_open(&broadcast->buffers, &broadcast->call);
}

static int broadcast_fill(void *operation)
{
    const struct broadcast *broadcast = operation;
    return co_bcast_buffers_fill(&broadcast->buffers, &broadcast->call);
}

static int broadcast_keep(void *operation)
{
    struct broadcast *broadcast = operation;
    return co_nonblocking_hold_type(&broadcast->common, &broadcast->call.type);
}

static int broadcast_begin(void *operation)
{
    struct broadcast *broadcast = operation;
    return co_team_ibcast(&broadcast->common.task, broadcast->common.team, broadcast->common.ticket.call,
                          broadcast->call.root, broadcast->buffers.data, broadcast->call.bytes);
}

static int broadcast_submit(struct co_proxied_call **out, const void *operation)
{
    const struct broadcast *broadcast = operation;
    return co_proxied_bcast(out, broadcast->common.proxied_team, broadcast->call.root, broadcast->buffers.data,
                            broadcast->call.bytes);
}

static int broadcast_refuse(const void *operation)
{
    const struct broadcast *broadcast = operation;
    return co_proxied_refuse_bcast(broadcast->common.proxied_team, broadcast->call.root);
}

static int broadcast_prepare(void *operation)
{
    const struct broadcast *broadcast = operation;
    int error = broadcast_open(operation);
    return error == 0 && broadcast->buffers.packed != NULL ? broadcast_keep(operation) : error;
}

static int broadcast_unpack(void *operation, int error, size_t given)
{
    struct broadcast *broadcast = operation;
    return co_bcast_buffers_unpack(&broadcast->buffers, &broadcast->call, error, given);
}

static void broadcast_close(void *operation)
{
    struct broadcast *broadcast = operation;
    co_bcast_buffers_close(&broadcast->buffers);
}

static const struct co_nonblocking_kind kind = {CO_NONBLOCKING_REQUESTS("MPI_Ibcast", "MPIX_Bcast_init"),
                                                .operation_bytes = sizeof(struct broadcast),
                                                .prepare = broadcast_prepare,
                                                .open = broadcast_open,
                                                .fill = broadcast_fill,
                                                .keep = broadcast_keep,
                                                .begin = broadcast_begin,
                                                .submit = broadcast_submit,
                                                .refuse = broadcast_refuse,
                                                .unpack = broadcast_unpack,
                                                .close = broadcast_close};

static struct broadcast broadcast_of(struct co_call_ticket ticket, void *buffer, ptrdiff_t count, MPI_Datatype type,
                                     int root)
{
    return (struct broadcast){.common = {.kind = &kind, .ticket = ticket},
                              .call = {.buffer = buffer, .count = count, .root = root, .type = type}};
}

static enum co_reason broadcast_route(struct broadcast *broadcast, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_bcast_route(&broadcast->call, comm, which);
    broadcast->common.communicator = broadcast->call.communicator;
    broadcast->common.bytes = broadcast->call.bytes;
    broadcast->common.is_offloaded = broadcast->call.is_by_proxies =
        co_route_by_proxies(broadcast->call.communicator, which, which, broadcast->call.bytes);
    return reason;
}

int PMPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Ibcast(buffer, count, type, root, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IBCAST);
    struct broadcast broadcast = broadcast_of(ticket, buffer, count, type, root);
    enum co_reason reason = broadcast_route(&broadcast, comm, CO_CALL_IBCAST);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&broadcast.common, comm, handle);
    }
    int code = co_next.Ibcast(buffer, count, type, root, comm, handle);
    // Between groups, as in MPI_Bcast.
    co_route_end(&ticket, reason, comm, root == MPI_PROC_NULL ? 0 : count, type, code);
    return code;
}

int PMPI_Bcast_init(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Bcast_init(buffer, count, type, root, comm, info, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_BCAST_INIT);
    struct broadcast broadcast = broadcast_of(ticket, buffer, count, type, root);
    enum co_reason reason = broadcast_route(&broadcast, comm, CO_CALL_BCAST_INIT);
    reason = co_persistent_collective_make(&broadcast.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code = co_next.Bcast_init(buffer, count, type, root, comm, info, handle);
    co_route_end(&ticket, reason, comm, root == MPI_PROC_NULL ? 0 : count, type, code);
    return code;
}

CO_EXPORT_EARLIER(Bcast_init);

#ifdef CO_HAS_LARGE_COUNTS

int PMPI_Ibcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Ibcast_c(buffer, count, type, root, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IBCAST);
    struct broadcast broadcast = broadcast_of(ticket, buffer, count, type, root);
    enum co_reason reason = broadcast_route(&broadcast, comm, CO_CALL_IBCAST);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&broadcast.common, comm, handle);
    }
    int code = co_next.Ibcast_c(buffer, count, type, root, comm, handle);
    // Between groups, as in MPI_Bcast.
    co_route_end(&ticket, reason, comm, root == MPI_PROC_NULL ? 0 : (ptrdiff_t)count, type, code);
    return code;
}

int PMPI_Bcast_init_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Bcast_init_c(buffer, count, type, root, comm, info, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_BCAST_INIT);
    struct broadcast broadcast = broadcast_of(ticket, buffer, count, type, root);
    enum co_reason reason = broadcast_route(&broadcast, comm, CO_CALL_BCAST_INIT);
    reason = co_persistent_collective_make(&broadcast.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code = co_next.Bcast_init_c(buffer, count, type, root, comm, info, handle);
    co_route_end(&ticket, reason, comm, root == MPI_PROC_NULL ? 0 : (ptrdiff_t)count, type, code);
    return code;
}

#endif
