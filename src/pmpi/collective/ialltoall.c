// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Ialltoall and MPIX_Alltoall_init. The receive type is held when it is needed at the end. The buffers are, as
// proxies want them, a block of bytes for each rank, one behind the other, and the same from each: the program's own
// where its types allow that. Hot.
#include "pmpi/collective/offloaded.h"
#include "pmpi/collective/persistent_collectives.h"
#include "pmpi/collective/routing.h"

#include "offload/collective/proxied_collective.h"
#include "pmpi/datatype/packing.h"

#include <errno.h>
#include <stdlib.h>

// What the program said.
struct call {
    const void *send;
    int send_count;
    MPI_Datatype send_type;
    void *receive;
    int receive_count;
    MPI_Datatype receive_type;
    struct co_communicator *communicator;
    struct co_datatype send_facts, receive_facts;
    size_t block_bytes; // for each rank, and from each
};

struct buffers {
    const void *send;
    void *receive;
    void *packed_send, *packed_receive; // temporary, NULL: not needed
};

// Native raises an error where a rank has another length for itself than from itself.
static bool has_right_arguments(struct call *call)
{
    if (call->receive == MPI_IN_PLACE ||
        !co_route_arguments(call->receive_count, call->receive_type, false, &call->receive_facts)) {
        return false;
    }
    call->block_bytes = (size_t)call->receive_count * call->receive_facts.bytes;
    return call->send == MPI_IN_PLACE ||
           (co_route_arguments(call->send_count, call->send_type, true, &call->send_facts) &&
            (size_t)call->send_count * call->send_facts.bytes == call->block_bytes);
}

static enum co_reason call_route(struct call *call, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_route_communicator(comm, &call->communicator);
    if (reason != CO_TAKE) {
        return reason;
    }
    if (!call->communicator->seed.facts.has_proxies) { // whatever the arguments are
        return CO_NO_PROXY;
    }
    return has_right_arguments(call) ? co_route_choose_at_once(call->communicator, which, call->block_bytes)
                                     : CO_BAD_ARGUMENT;
}

static size_t ranks_of(const struct call *call)
{
    return (size_t)call->communicator->seed.facts.ranks;
}

// A room for all blocks, where it is needed. 0 or -ENOMEM.
static int take_room(void **room, bool is_needed, const struct call *call)
{
    *room = is_needed ? malloc(call->block_bytes * ranks_of(call)) : NULL;
    return is_needed && *room == NULL ? -ENOMEM : 0;
}

static int buffers_fill(const struct buffers *buffers, const struct call *call)
{
    if (buffers->packed_send == NULL) {
        return 0;
    }
    if (call->send == MPI_IN_PLACE) {
        return co_pack(buffers->packed_send, call->receive, (size_t)call->receive_count * ranks_of(call),
                       call->receive_type, &call->receive_facts);
    }
    return co_pack(buffers->packed_send, call->send, (size_t)call->send_count * ranks_of(call), call->send_type,
                   &call->send_facts);
}

// In place what is sent is a copy of what the buffer has: others' blocks come while the own ones leave.
static bool must_pack_send(const struct call *call)
{
    return call->send == MPI_IN_PLACE ||
           co_packing_is_needed_for(true, call->send, (size_t)call->send_count * ranks_of(call), call->send_type,
                                    &call->send_facts);
}

static void buffers_close(struct buffers *buffers)
{
    free(buffers->packed_send);
    free(buffers->packed_receive);
    buffers->packed_send = buffers->packed_receive = NULL;
}

static int buffers_open(struct buffers *buffers, const struct call *call)
{
    *buffers = (struct buffers){.send = call->send, .receive = call->receive};
    bool packs_receive = co_packing_is_needed_for(true, call->receive, (size_t)call->receive_count * ranks_of(call),
                                                  call->receive_type, &call->receive_facts);
    int error = take_room(&buffers->packed_receive, packs_receive, call);
    error = error == 0 ? take_room(&buffers->packed_send, must_pack_send(call), call) : error;
    error = error == 0 ? buffers_fill(buffers, call) : error;
    if (error != 0) {
        buffers_close(buffers);
        return error;
    }
    buffers->send = buffers->packed_send != NULL ? buffers->packed_send : buffers->send;
    buffers->receive = buffers->packed_receive != NULL ? buffers->packed_receive : buffers->receive;
    return 0;
}

static int buffers_unpack(const struct buffers *buffers, const struct call *call)
{
    return buffers->packed_receive == NULL
               ? 0
               : co_unpack(call->receive, buffers->packed_receive, (size_t)call->receive_count * ranks_of(call),
                           call->receive_type, &call->receive_facts);
}

struct exchange {
    struct co_nonblocking common;
    struct call call;
    struct buffers buffers;
};

static int exchange_open(void *operation)
{
    struct exchange *exchange = operation;
    return buffers_open(&exchange->buffers, &exchange->call);
}

static int exchange_fill(void *operation)
{
    const struct exchange *exchange = operation;
    return buffers_fill(&exchange->buffers, &exchange->call);
}

static int keep_receive_type(struct exchange *exchange)
{
    return co_nonblocking_hold_type(&exchange->common, &exchange->call.receive_type);
}

static int exchange_keep(void *operation)
{
    struct exchange *exchange = operation;
    int error = exchange->call.send == MPI_IN_PLACE
                    ? 0
                    : co_nonblocking_hold_type(&exchange->common, &exchange->call.send_type);
    return error == 0 ? keep_receive_type(exchange) : error;
}

static int exchange_submit(struct co_proxied_call **out, const void *operation)
{
    const struct exchange *exchange = operation;
    return co_proxied_alltoall(out, exchange->common.proxied_team, exchange->buffers.send, exchange->buffers.receive,
                               exchange->call.block_bytes);
}

static int exchange_prepare(void *operation)
{
    struct exchange *exchange = operation;
    int error = exchange_open(operation);
    return error == 0 && exchange->buffers.packed_receive != NULL ? keep_receive_type(exchange) : error;
}

static int exchange_unpack(void *operation, int error, size_t given)
{
    (void)given;
    struct exchange *exchange = operation;
    return error != 0 ? error : buffers_unpack(&exchange->buffers, &exchange->call);
}

static void exchange_close(void *operation)
{
    struct exchange *exchange = operation;
    buffers_close(&exchange->buffers);
}

static const struct co_nonblocking_kind kind = {CO_NONBLOCKING_REQUESTS("MPI_Ialltoall", "MPIX_Alltoall_init"),
                                                .operation_bytes = sizeof(struct exchange),
                                                .prepare = exchange_prepare,
                                                .open = exchange_open,
                                                .fill = exchange_fill,
                                                .keep = exchange_keep,
                                                .submit = exchange_submit,
                                                .refuse = co_offloaded_refuse_exchange,
                                                .unpack = exchange_unpack,
                                                .close = exchange_close};

static struct exchange exchange_of(struct co_call_ticket ticket, const void *send, int send_count,
                                   MPI_Datatype send_type, void *receive, int receive_count, MPI_Datatype receive_type)
{
    return (struct exchange){.common = {.kind = &kind, .ticket = ticket, .is_offloaded = true},
                             .call = {.send = send,
                                      .send_count = send_count,
                                      .send_type = send_type,
                                      .receive = receive,
                                      .receive_count = receive_count,
                                      .receive_type = receive_type}};
}

static enum co_reason exchange_route(struct exchange *exchange, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = call_route(&exchange->call, comm, which);
    exchange->common.communicator = exchange->call.communicator;
    exchange->common.bytes = exchange->call.block_bytes;
    return reason;
}

int PMPI_Ialltoall(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Ialltoall(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLTOALL);
    struct exchange exchange = exchange_of(ticket, send, send_count, send_type, receive, receive_count, receive_type);
    enum co_reason reason = exchange_route(&exchange, comm, CO_CALL_IALLTOALL);
    if (reason == CO_TAKE) {
        return co_nonblocking_take(&exchange.common, comm, handle);
    }
    int code = co_next.Ialltoall(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

int PMPI_Alltoall_init(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                       MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info, MPI_Request *handle)
{
    if (co_process_is_off()) {
        return co_next.Alltoall_init(send, send_count, send_type, receive, receive_count, receive_type, comm, info,
                                     handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLTOALL_INIT);
    struct exchange exchange = exchange_of(ticket, send, send_count, send_type, receive, receive_count, receive_type);
    enum co_reason reason = exchange_route(&exchange, comm, CO_CALL_ALLTOALL_INIT);
    reason = co_persistent_collective_make(&exchange.common, reason, handle);
    if (reason == CO_TAKE) {
        return MPI_SUCCESS;
    }
    int code =
        co_next.Alltoall_init(send, send_count, send_type, receive, receive_count, receive_type, comm, info, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

CO_EXPORT_EARLIER(Alltoall_init);
