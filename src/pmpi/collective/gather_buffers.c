// SPDX-License-Identifier: BSD-3-Clause
//
// Which side of an allgather is packed, and the routing of the allgathers.
#include "pmpi/collective/gather_buffers.h"

#include "pmpi/datatype/packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum co_reason co_gather_route(struct co_gather_call *call, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_route_communicator(comm, &call->communicator);
    if (reason != CO_TAKE) {
        return reason;
    }
    bool is_in_place = call->send == MPI_IN_PLACE;
    if (call->receive == MPI_IN_PLACE ||
        !co_route_arguments(call->receive_count, call->receive_type, false, &call->receive_facts) ||
        (!is_in_place && !co_route_arguments(call->send_count, call->send_type, true, &call->send_facts))) {
        return CO_BAD_ARGUMENT;
    }
    call->block_bytes = (size_t)call->receive_count * call->receive_facts.bytes;
    if (co_call_is_nonblocking(which)) {
        return co_route_choose_at_once(call->communicator, which, call->block_bytes);
    }
    return co_route_choose(call->communicator, which, 0, call->block_bytes, &call->trial_ns);
}

static char *own_block(const struct co_gather_call *call)
{
    return (char *)call->receive +
           (ptrdiff_t)call->communicator->seed.rank * call->receive_count * call->receive_facts.extent;
}

// In place with a layout that must be packed: the own block goes to its place among the packed ones.
static int pack_own_place(const struct co_gather_buffers *buffers, const struct co_gather_call *call)
{
    char *place = (char *)buffers->all + (size_t)call->communicator->seed.rank * call->block_bytes;
    return co_pack(place, own_block(call), (size_t)call->receive_count, call->receive_type, &call->receive_facts);
}

// A block of another size than the others expect is the program's mistake. The others must not wait for it, so what
// there is takes part, and the caller is told as native would.
static int place_mine(struct co_gather_buffers *buffers, const struct co_gather_call *call)
{
    size_t bytes = (size_t)call->send_count * call->send_facts.bytes;
    if (call->send == MPI_IN_PLACE) {
        return 0;
    }
    buffers->mine = call->send;
    if (bytes != call->block_bytes ||
        co_packing_is_needed_for(call->is_by_proxies, call->send, (size_t)call->send_count, call->send_type,
                                 &call->send_facts)) {
        buffers->mine = buffers->packed_mine = calloc(1, bytes > call->block_bytes ? bytes : call->block_bytes);
        return buffers->mine == NULL ? -ENOMEM : 0;
    }
    return 0;
}

int co_gather_buffers_fill(const struct co_gather_buffers *buffers, const struct co_gather_call *call)
{
    if (call->send == MPI_IN_PLACE) {
        return buffers->packed_all == NULL ? 0 : pack_own_place(buffers, call);
    }
    return buffers->packed_mine == NULL ? 0
                                        : co_pack(buffers->packed_mine, call->send, (size_t)call->send_count,
                                                  call->send_type, &call->send_facts);
}

int co_gather_buffers_open(struct co_gather_buffers *buffers, const struct co_gather_call *call)
{
    *buffers = (struct co_gather_buffers){.all = call->receive};
    size_t blocks = (size_t)call->communicator->seed.facts.ranks;
    if (co_packing_is_needed_for(call->is_by_proxies, call->receive, (size_t)call->receive_count * blocks,
                                 call->receive_type, &call->receive_facts)) {
        buffers->packed_all = malloc(call->block_bytes * blocks);
        buffers->all = buffers->packed_all;
        if (buffers->packed_all == NULL) {
            return -ENOMEM;
        }
    }
    int error = place_mine(buffers, call);
    error = error == 0 ? co_gather_buffers_fill(buffers, call) : error;
    if (error != 0) {
        co_gather_buffers_close(buffers);
    }
    return error;
}

int co_gather_buffers_unpack(const struct co_gather_buffers *buffers, const struct co_gather_call *call)
{
    if (buffers->packed_all != NULL) {
        size_t count = (size_t)call->receive_count * (size_t)call->communicator->seed.facts.ranks;
        int error = co_unpack(call->receive, buffers->packed_all, count, call->receive_type, &call->receive_facts);
        if (error != 0) {
            return error;
        }
    }
    bool is_too_long =
        call->send != MPI_IN_PLACE && (size_t)call->send_count * call->send_facts.bytes > call->block_bytes;
    return is_too_long ? -EMSGSIZE : 0;
}

void co_gather_buffers_close(struct co_gather_buffers *buffers)
{
    free(buffers->packed_mine);
    free(buffers->packed_all);
    buffers->packed_mine = buffers->packed_all = NULL;
}

int co_gather_run(const struct co_gather_call *call)
{
    struct co_gather_buffers buffers;
    int error = co_gather_buffers_open(&buffers, call);
    if (error != 0) {
        co_team_give_up(call->communicator->team, error);
        return error;
    }
    error = co_team_allgather(call->communicator->team, buffers.mine, buffers.all, call->block_bytes);
    if (error == 0) {
        error = co_gather_buffers_unpack(&buffers, call);
    }
    co_gather_buffers_close(&buffers);
    return error;
}
