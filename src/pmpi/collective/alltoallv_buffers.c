// SPDX-License-Identifier: BSD-3-Clause
//
// Where the blocks of an all-to-all of unequal ones lie, and its routing.
#include "pmpi/collective/alltoallv_buffers.h"

#include "pmpi/datatype/packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int ranks_of(const struct co_alltoallv_call *call)
{
    return call->communicator->seed.facts.ranks;
}

static size_t bytes_of(const struct co_alltoallv_side *side, int rank)
{
    return (size_t)side->counts[rank] * side->facts.bytes;
}

static ptrdiff_t place_of(const struct co_alltoallv_side *side, int rank)
{
    return (ptrdiff_t)side->places[rank] * side->facts.extent;
}

static bool is_right(struct co_alltoallv_side *side, int ranks, bool sends)
{
    if (side->counts == NULL || side->places == NULL || !co_route_arguments(0, side->type, sends, &side->facts)) {
        return false;
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (side->counts[rank] < 0) {
            return false;
        }
    }
    return true;
}

// Of all blocks; SIZE_MAX: more than any memory has.
static size_t sum(const struct co_alltoallv_side *side, int ranks)
{
    size_t bytes = 0;
    for (int rank = 0; rank < ranks; rank++) {
        if (bytes_of(side, rank) > PTRDIFF_MAX - bytes) {
            return SIZE_MAX;
        }
        bytes += bytes_of(side, rank);
    }
    return bytes;
}

// Native raises an error where a rank has another length for itself than from itself.
static bool has_right_arguments(struct co_alltoallv_call *call)
{
    int ranks = ranks_of(call), self = call->communicator->seed.rank;
    if (call->receive_buffer == MPI_IN_PLACE || !is_right(&call->receive, ranks, false)) {
        return false;
    }
    return call->send_buffer == MPI_IN_PLACE ||
           (is_right(&call->send, ranks, true) && bytes_of(&call->send, self) == bytes_of(&call->receive, self));
}

enum co_reason co_alltoallv_route(struct co_alltoallv_call *call, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_route_communicator(comm, &call->communicator);
    if (reason != CO_TAKE) {
        return reason;
    }
    if (!call->communicator->seed.facts.has_proxies) { // whatever the arguments are
        return CO_NO_PROXY;
    }
    if (!has_right_arguments(call)) {
        return CO_BAD_ARGUMENT;
    }
    size_t ranks = (size_t)ranks_of(call);
    call->mean_bytes = sum(&call->receive, ranks_of(call)) / ranks;
    return co_route_choose_at_once(call->communicator, which, 1);
}

// Blocks of the program's own buffer cannot be used as they are.
static bool must_pack(const struct co_alltoallv_side *side, const void *buffer, int ranks)
{
    struct co_span span = CO_SPAN_NONE; // of all blocks
    for (int rank = 0; rank < ranks; rank++) {
        if (side->counts[rank] > 0 && co_packing_is_needed((const char *)buffer + place_of(side, rank),
                                                           (size_t)side->counts[rank], side->type, &side->facts)) {
            return true;
        }
        co_span_add(&span, (const char *)buffer + place_of(side, rank), bytes_of(side, rank));
    }
    return co_unreached_is(span.from, span.bytes);
}

// What is sent: in place a copy of what the receive buffer has.
static const struct co_alltoallv_side *sending(const struct co_alltoallv_call *call)
{
    return call->send_buffer == MPI_IN_PLACE ? &call->receive : &call->send;
}

static const char *sent_from(const struct co_alltoallv_call *call)
{
    return call->send_buffer == MPI_IN_PLACE ? call->receive_buffer : call->send_buffer;
}

static int keep_arrays(struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call)
{
    size_t ranks = (size_t)ranks_of(call), bytes = ranks * sizeof(int);
    buffers->counts = malloc(2 * bytes);
    if (buffers->counts == NULL) {
        return -ENOMEM;
    }
    buffers->places = buffers->counts + ranks;
    memcpy(buffers->counts, call->receive.counts, bytes);
    memcpy(buffers->places, call->receive.places, bytes);
    return 0;
}

// At least a byte, so that it is a place.
static void *room_for(const struct co_alltoallv_side *side, int ranks)
{
    size_t bytes = sum(side, ranks);
    return bytes == SIZE_MAX ? NULL : malloc(bytes + 1);
}

static int take_rooms(struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call)
{
    int ranks = ranks_of(call);
    buffers->send = call->send_buffer;
    buffers->receive = call->receive_buffer;
    if (call->send_buffer == MPI_IN_PLACE || must_pack(&call->send, call->send_buffer, ranks)) {
        buffers->send = buffers->packed_send = room_for(sending(call), ranks);
        if (buffers->packed_send == NULL) {
            return -ENOMEM;
        }
    }
    if (must_pack(&call->receive, call->receive_buffer, ranks)) {
        buffers->receive = buffers->packed_receive = room_for(&call->receive, ranks);
        return buffers->packed_receive == NULL ? -ENOMEM : keep_arrays(buffers, call);
    }
    return 0;
}

static int lay_out(struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call)
{
    int ranks = ranks_of(call);
    int64_t sent = 0, received = 0;
    buffers->blocks = malloc((size_t)ranks * sizeof *buffers->blocks);
    if (buffers->blocks == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < ranks; rank++) {
        size_t out = bytes_of(sending(call), rank), in = bytes_of(&call->receive, rank);
        buffers->blocks[rank] = (struct co_proxied_block){
            .send_at = buffers->packed_send != NULL ? sent : place_of(sending(call), rank),
            .receive_at = buffers->packed_receive != NULL ? received : place_of(&call->receive, rank),
            .send_bytes = out,
            .receive_bytes = in};
        sent += (int64_t)out;
        received += (int64_t)in;
    }
    return 0;
}

int co_alltoallv_buffers_fill(const struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call)
{
    const struct co_alltoallv_side *side = sending(call);
    int error = 0;
    for (int rank = 0; buffers->packed_send != NULL && error == 0 && rank < ranks_of(call); rank++) {
        if (side->counts[rank] > 0) {
            error =
                co_pack((char *)buffers->packed_send + buffers->blocks[rank].send_at,
                        sent_from(call) + place_of(side, rank), (size_t)side->counts[rank], side->type, &side->facts);
        }
    }
    return error;
}

int co_alltoallv_buffers_open(struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call)
{
    *buffers = (struct co_alltoallv_buffers){.blocks = NULL};
    int error = take_rooms(buffers, call);
    error = error == 0 ? lay_out(buffers, call) : error;
    error = error == 0 ? co_alltoallv_buffers_fill(buffers, call) : error;
    if (error != 0) {
        co_alltoallv_buffers_close(buffers);
    }
    return error;
}

int co_alltoallv_buffers_unpack(const struct co_alltoallv_buffers *buffers, const struct co_alltoallv_call *call)
{
    const struct co_alltoallv_side *side = &call->receive;
    int error = 0;
    for (int rank = 0; buffers->packed_receive != NULL && error == 0 && rank < ranks_of(call); rank++) {
        if (buffers->counts[rank] > 0) {
            error = co_unpack((char *)call->receive_buffer + (ptrdiff_t)buffers->places[rank] * side->facts.extent,
                              (char *)buffers->packed_receive + buffers->blocks[rank].receive_at,
                              (size_t)buffers->counts[rank], side->type, &side->facts);
        }
    }
    return error;
}

void co_alltoallv_buffers_close(struct co_alltoallv_buffers *buffers)
{
    free(buffers->blocks);
    free(buffers->packed_send);
    free(buffers->packed_receive);
    free(buffers->counts);
    *buffers = (struct co_alltoallv_buffers){.blocks = NULL};
}
