// SPDX-License-Identifier: BSD-3-Clause
//
// When a broadcast is packed, and the routing of the broadcasts.
#include "pmpi/collective/bcast_buffers.h"

#include "base/buffer_cache.h"
#include "base/clock.h"
#include "engine/decide/meetings.h"
#include "pmpi/datatype/packing.h"

#include <errno.h>

enum co_reason co_bcast_route(struct co_bcast_call *call, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_route_communicator(comm, &call->communicator);
    if (reason != CO_TAKE) {
        return reason;
    }
    struct co_meetings *trials = co_call_is_nonblocking(which) ? NULL : call->communicator->meetings;
    call->has_meetings = trials != NULL;
    call->began_ns = trials != NULL && call->communicator->seed.rank == 0 ? co_clock_now_ns() : 0;
    if (call->root < 0 || call->root >= call->communicator->seed.facts.ranks || call->buffer == MPI_IN_PLACE ||
        !co_route_arguments(call->count, call->type, true, &call->facts)) {
        return CO_BAD_ARGUMENT;
    }
    call->bytes = (size_t)call->count * call->facts.bytes;
    if (co_call_is_nonblocking(which)) {
        return co_route_choose_at_once(call->communicator, which, call->bytes);
    }
    if (trials != NULL && co_meetings_decline(trials, call->bytes)) {
        return CO_FOUND_SLOWER;
    }
    return co_route_choose(call->communicator, which, call->root, call->bytes, &call->trial_ns);
}

// Of nothing nobody waits for anybody, and a rank that makes such a call alone harms nobody.
static bool is_of_nothing(const struct co_bcast_call *call, enum co_reason reason)
{
    return call->count == 0 || reason == CO_ZERO_BYTES;
}

// Who may be told that a call is native's must not be told so of one that native refuses.
static bool may_be_refused(const struct co_bcast_call *call, enum co_reason reason)
{
    return reason == CO_BAD_ARGUMENT || call->buffer == NULL;
}

static void let_go(const struct co_bcast_call *call)
{
    struct co_communicator *communicator = call->communicator;
    co_let_go_to_native(&communicator->seed, co_process.engine, communicator->team, call->root);
}

void co_bcast_begin_native(struct co_bcast_call *call, enum co_reason reason)
{
    bool is_native = reason != CO_TAKE && reason != CO_UNEQUAL_LENGTHS && !is_of_nothing(call, reason);
    if (is_native && call->communicator != NULL && !may_be_refused(call, reason)) {
        let_go(call);
        call->is_skipped = true;
    }
}

static void count_skipped(const struct co_bcast_call *call, enum co_reason reason, int code)
{
    bool took_part = co_route_took_part(code);
    if (call->is_skipped && !took_part) {
        co_let_go_take_back(&call->communicator->seed, co_process.engine, call->communicator->team, call->root);
    } else if (!call->is_skipped && took_part && reason != CO_UNEQUAL_LENGTHS) {
        let_go(call);
    }
}

void co_bcast_end(const struct co_bcast_call *call, MPI_Comm comm, enum co_reason reason, int code)
{
    if ((reason == CO_TAKE && !call->has_meetings) || is_of_nothing(call, reason)) {
        return;
    }
    // An error handler may have freed the communicator.
    if (call->communicator == NULL || co_communicators_find(comm) != call->communicator) {
        return;
    }
    if (reason != CO_TAKE) {
        count_skipped(call, reason, code);
    }
    if (call->has_meetings && co_route_took_part(code)) {
        uint64_t took_ns = call->began_ns == 0 ? 0 : co_clock_now_ns() - call->began_ns;
        co_meetings_count(call->communicator->meetings, call->bytes, took_ns);
    }
}

static bool is_root(const struct co_bcast_call *call)
{
    return call->root == call->communicator->seed.rank;
}

int co_bcast_buffers_fill(const struct co_bcast_buffers *buffers, const struct co_bcast_call *call)
{
    return buffers->packed != NULL && is_root(call)
               ? co_pack(buffers->packed, call->buffer, (size_t)call->count, call->type, &call->facts)
               : 0;
}

int co_bcast_buffers_open(struct co_bcast_buffers *buffers, const struct co_bcast_call *call)
{
    *buffers = (struct co_bcast_buffers){.data = call->buffer};
    if (!co_packing_is_needed_for(call->is_by_proxies, call->buffer, (size_t)call->count, call->type, &call->facts)) {
        return 0;
    }
    buffers->data = buffers->packed = co_buffer_cache_take(call->bytes);
    if (buffers->packed == NULL) {
        return -ENOMEM;
    }
    int error = co_bcast_buffers_fill(buffers, call);
    if (error != 0) {
        co_bcast_buffers_close(buffers);
    }
    return error;
}

int co_bcast_buffers_unpack(const struct co_bcast_buffers *buffers, const struct co_bcast_call *call, int error,
                            size_t given)
{
    if (buffers->packed == NULL || is_root(call) || (error != 0 && error != -EMSGSIZE)) {
        return error;
    }
    size_t came = given < call->bytes ? given : call->bytes;
    int unpack_error =
        co_unpack_part(call->buffer, buffers->packed, came, (size_t)call->count, call->type, &call->facts);
    return error != 0 ? error : unpack_error;
}

void co_bcast_buffers_close(struct co_bcast_buffers *buffers)
{
    co_buffer_cache_give(buffers->packed);
    buffers->packed = NULL;
}
