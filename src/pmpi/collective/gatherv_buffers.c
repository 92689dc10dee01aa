// SPDX-License-Identifier: BSD-3-Clause
//
// Where the blocks of an allgatherv go, and its routing.
#include "pmpi/collective/gatherv_buffers.h"

#include "base/memory/memory_copy.h"
#include "pmpi/datatype/packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int ranks_of(const struct co_gatherv_call *call)
{
    return call->communicator->seed.facts.ranks;
}

// False: some count is negative.
static bool add_up(struct co_gatherv_call *call)
{
    size_t elements = 0;
    int ranks = ranks_of(call);
    ptrdiff_t first = co_gatherv_count(call, 0), largest = 0;
    call->is_equal = true;
    for (int rank = 0; rank < ranks; rank++) {
        ptrdiff_t count = co_gatherv_count(call, rank);
        if (count < 0) {
            return false;
        }
        elements += (size_t)count;
        largest = count > largest ? count : largest;
        call->is_equal = call->is_equal && count == first;
    }
    size_t most = PTRDIFF_MAX / (call->receive_facts.bytes > 0 ? call->receive_facts.bytes : 1);
    call->total_bytes = elements > most ? SIZE_MAX / 2 : elements * call->receive_facts.bytes;
    call->largest_bytes = (size_t)largest * call->receive_facts.bytes;
    call->block_bytes = (call->total_bytes + (size_t)ranks - 1) / (size_t)ranks;
    // Counts of a type without bytes may be any, and other ones on each member.
    call->is_equal = call->is_equal || call->total_bytes == 0;
    return true;
}

static enum co_call as_equal(enum co_call which)
{
    return which == CO_CALL_ALLGATHERV    ? CO_CALL_ALLGATHER
           : which == CO_CALL_IALLGATHERV ? CO_CALL_IALLGATHER
                                          : CO_CALL_ALLGATHER_INIT;
}

static enum co_call as_of_one(enum co_call which)
{
    return which == CO_CALL_ALLGATHERV    ? CO_CALL_BCAST
           : which == CO_CALL_IALLGATHERV ? CO_CALL_IBCAST
                                          : CO_CALL_BCAST_INIT;
}

// Without trials, whose classes are of equal blocks.
static enum co_reason decide(struct co_gatherv_call *call, enum co_call which)
{
    bool is_of_one = !call->is_equal && call->largest_bytes == call->total_bytes;
    enum co_call other = call->is_equal ? as_equal(which) : is_of_one ? as_of_one(which) : which;
    size_t bytes = is_of_one ? call->total_bytes : call->block_bytes;
    call->is_by_proxies = co_route_by_proxies(call->communicator, which, other, bytes);
    return co_team_decide_as(co_process.engine, &call->communicator->seed.facts, which, other, bytes);
}

enum co_reason co_gatherv_route(struct co_gatherv_call *call, MPI_Comm comm, enum co_call which)
{
    enum co_reason reason = co_route_communicator(comm, &call->communicator);
    if (reason != CO_TAKE) {
        return reason;
    }
    bool is_in_place = call->send == MPI_IN_PLACE;
    call->is_by_proxies = co_route_by_proxies(call->communicator, which, which, 0); // whatever the arguments are
    if (call->receive == MPI_IN_PLACE || (call->counts == NULL && call->large_counts == NULL) ||
        (call->places == NULL && call->large_places == NULL) ||
        !co_route_arguments(0, call->receive_type, false, &call->receive_facts) || !add_up(call) ||
        (!is_in_place && !co_route_arguments(call->send_count, call->send_type, true, &call->send_facts))) {
        return CO_BAD_ARGUMENT;
    }
    return decide(call, which);
}

static char *place_of(const struct co_gatherv_call *call, int rank)
{
    return (char *)call->receive + co_gatherv_place(call, rank) * call->receive_facts.extent;
}

bool co_gatherv_is_row(const struct co_gatherv_call *call)
{
    if (!call->is_equal) {
        return false;
    }
    for (int rank = 1; rank < ranks_of(call); rank++) {
        if (co_gatherv_place(call, rank) != co_gatherv_place(call, rank - 1) + co_gatherv_count(call, 0)) {
            return false;
        }
    }
    return true;
}

struct co_gather_call co_gatherv_as_gather(const struct co_gatherv_call *call)
{
    return (struct co_gather_call){.send = call->send,
                                   .send_count = call->send_count,
                                   .send_type = call->send_type,
                                   .receive = place_of(call, 0),
                                   .receive_count = co_gatherv_count(call, 0),
                                   .receive_type = call->receive_type,
                                   .communicator = call->communicator,
                                   .send_facts = call->send_facts,
                                   .receive_facts = call->receive_facts,
                                   .block_bytes = call->block_bytes};
}

// From the first byte of all blocks to the last one.
static bool span_is_out_of_reach(const struct co_gatherv_call *call)
{
    struct co_span span = CO_SPAN_NONE;
    for (int rank = 0; rank < ranks_of(call); rank++) {
        co_span_add(&span, place_of(call, rank), (size_t)co_gatherv_count(call, rank) * call->receive_facts.bytes);
    }
    return co_unreached_is(span.from, span.bytes);
}

// Blocks of the program's own buffer cannot be used as they are.
static bool must_pack(const struct co_gatherv_call *call)
{
    for (int rank = 0; rank < ranks_of(call); rank++) {
        if (co_packing_is_needed(place_of(call, rank), (size_t)co_gatherv_count(call, rank), call->receive_type,
                                 &call->receive_facts)) {
            return true;
        }
    }
    return call->is_by_proxies && span_is_out_of_reach(call);
}

// Of counts, or places.
static ptrdiff_t *copy_of(const struct co_gatherv_call *call, ptrdiff_t (*number)(const struct co_gatherv_call *, int))
{
    ptrdiff_t *copy = malloc((size_t)ranks_of(call) * sizeof *copy);
    for (int rank = 0; copy != NULL && rank < ranks_of(call); rank++) {
        copy[rank] = number(call, rank);
    }
    return copy;
}

static int open_parts(struct co_gatherv_buffers *buffers, const struct co_gatherv_call *call)
{
    int ranks = ranks_of(call);
    buffers->blocks = malloc((size_t)ranks * sizeof *buffers->blocks);
    if (buffers->blocks == NULL) {
        return -ENOMEM;
    }
    if (must_pack(call)) {
        buffers->packed = malloc(call->total_bytes);
        buffers->counts = copy_of(call, co_gatherv_count);
        buffers->places = copy_of(call, co_gatherv_place);
        if (buffers->packed == NULL || buffers->counts == NULL || buffers->places == NULL) {
            return -ENOMEM;
        }
    }
    size_t before = 0;
    for (int rank = 0; rank < ranks; rank++) {
        size_t bytes = (size_t)co_gatherv_count(call, rank) * call->receive_facts.bytes;
        buffers->blocks[rank].buffer =
            buffers->packed != NULL ? (char *)buffers->packed + before : place_of(call, rank);
        buffers->blocks[rank].bytes = bytes;
        before += bytes;
    }
    return 0;
}

// A block of another size than the others expect is the program's mistake. The others must not wait for it, so what
// there is takes part, and the caller is told as native would.
static int pack_other_size(const struct co_block *own, const struct co_gatherv_call *call, size_t bytes)
{
    void *packed = malloc(bytes + 1);
    if (packed == NULL) {
        return -ENOMEM;
    }
    int error = co_pack(packed, call->send, (size_t)call->send_count, call->send_type, &call->send_facts);
    co_memory_copy(own->buffer, packed, bytes < own->bytes ? bytes : own->bytes);
    free(packed);
    return error;
}

int co_gatherv_buffers_fill(const struct co_gatherv_buffers *buffers, const struct co_gatherv_call *call)
{
    int self = call->communicator->seed.rank;
    const struct co_block *own = &buffers->blocks[self];
    if (call->send == MPI_IN_PLACE) {
        return buffers->packed == NULL
                   ? 0
                   : co_pack(own->buffer, place_of(call, self), (size_t)co_gatherv_count(call, self),
                             call->receive_type, &call->receive_facts);
    }
    size_t bytes = (size_t)call->send_count * call->send_facts.bytes;
    if (buffers->packed != NULL && bytes < own->bytes) { // the program's mistake: what is not given are zeroes
        memset(own->buffer, 0, own->bytes);
    }
    if (bytes == 0) {
        return 0;
    }
    return bytes == own->bytes
               ? co_pack(own->buffer, call->send, (size_t)call->send_count, call->send_type, &call->send_facts)
               : pack_other_size(own, call, bytes);
}

int co_gatherv_buffers_open(struct co_gatherv_buffers *buffers, const struct co_gatherv_call *call)
{
    *buffers = (struct co_gatherv_buffers){.blocks = NULL};
    int error = open_parts(buffers, call);
    error = error == 0 ? co_gatherv_buffers_fill(buffers, call) : error;
    if (error != 0) {
        co_gatherv_buffers_close(buffers);
    }
    return error;
}

int co_gatherv_buffers_unpack(const struct co_gatherv_buffers *buffers, const struct co_gatherv_call *call)
{
    int self = call->communicator->seed.rank;
    for (int rank = 0; buffers->packed != NULL && rank < ranks_of(call); rank++) {
        char *place = (char *)call->receive + buffers->places[rank] * call->receive_facts.extent;
        if (rank == self && call->send == MPI_IN_PLACE) {
            continue;
        }
        int error = co_unpack(place, buffers->blocks[rank].buffer, (size_t)buffers->counts[rank], call->receive_type,
                              &call->receive_facts);
        if (error != 0) {
            return error;
        }
    }
    bool is_too_long =
        call->send != MPI_IN_PLACE && (size_t)call->send_count * call->send_facts.bytes > buffers->blocks[self].bytes;
    return is_too_long ? -EMSGSIZE : 0;
}

void co_gatherv_buffers_close(struct co_gatherv_buffers *buffers)
{
    free(buffers->blocks);
    free(buffers->packed);
    free(buffers->counts);
    free(buffers->places);
    *buffers = (struct co_gatherv_buffers){.blocks = NULL};
}

ptrdiff_t co_gatherv_mean_count(const struct co_gatherv_call *call, MPI_Comm comm, int code)
{
    int is_inter = 0, size = 0;
    size_t all = 0;
    if (code != MPI_SUCCESS || co_next.Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter) {
        return 0;
    }
    co_next.Comm_size(comm, &size);
    for (int rank = 0; rank < size; rank++) {
        all += (size_t)co_gatherv_count(call, rank);
    }
    return (ptrdiff_t)((all + (size_t)size - 1) / (size_t)size);
}
