// SPDX-License-Identifier: BSD-3-Clause
//
// The arguments of an all-to-all of unequal blocks between program and proxies, with mpi.h but without an MPI: which
// arguments go to native, what is packed and what is used as it lies, in place, places of blocks, and what the program
// may change meanwhile. Packing, communicators and the decision are around_buffers.h's; what they do together with MPI
// is tested by tests/mpi.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "around_buffers.h"
#include "pmpi/collective/alltoallv_buffers.h"

enum { INTS = 64 };

static int sent[INTS], received[INTS];
// Blocks of each length: some to nobody, out of order, with room between them.
static int counts[RANKS] = {2, 3, 0}, places[RANKS] = {10, 1, 5}, theirs[RANKS] = {0, 3, 4}, rooms[RANKS] = {0, 12, 4};

static struct co_alltoallv_call call_of(const void *send, MPI_Datatype send_type, MPI_Datatype receive_type)
{
    communicator.seed.facts.has_proxies = true;
    for (int i = 0; i < INTS; i++) {
        sent[i] = 100 + i;
    }
    spoil(received, INTS);
    return (struct co_alltoallv_call){.send_buffer = send,
                                      .receive_buffer = received,
                                      .send = {.counts = counts, .places = places, .type = send_type},
                                      .receive = {.counts = theirs, .places = rooms, .type = receive_type}};
}

static struct co_alltoallv_call routed(const void *send, MPI_Datatype send_type, MPI_Datatype receive_type)
{
    struct co_alltoallv_call call = call_of(send, send_type, receive_type);
    assert_int_equal(co_alltoallv_route(&call, COMM, CO_CALL_IALLTOALLV), CO_TAKE);
    assert_ptr_equal(call.communicator, &communicator);
    return call;
}

static void wrong_arguments_go_to_native(void **state)
{
    static const int negative[RANKS] = {2, 3, -1}, other_own[RANKS] = {2, 2, 0}, nothing[RANKS] = {0, 0, 0};
    (void)state;
    struct co_alltoallv_call call = call_of(sent, ROW, ROW);
    assert_int_equal(co_alltoallv_route(&call, (MPI_Comm)(void *)&call, CO_CALL_IALLTOALLV), CO_UNKNOWN_COMMUNICATOR);
    for (int wrong = 0; wrong < 10; wrong++) {
        call = call_of(sent, ROW, ROW);
        call.receive_buffer = wrong == 0 ? MPI_IN_PLACE : call.receive_buffer;
        call.receive.counts = wrong == 1 ? NULL : wrong == 2 ? negative : call.receive.counts;
        call.receive.places = wrong == 3 ? NULL : call.receive.places;
        call.receive.type = wrong == 4 ? (MPI_Datatype)(void *)&call : call.receive.type;
        call.send.counts = wrong == 5 ? NULL : wrong == 6 ? negative : wrong == 7 ? other_own : call.send.counts;
        call.send.places = wrong == 8 ? NULL : call.send.places;
        call.send.type = wrong == 9 ? (MPI_Datatype)(void *)&call : call.send.type;
        assert_int_equal(co_alltoallv_route(&call, COMM, CO_CALL_IALLTOALLV), CO_BAD_ARGUMENT);
        call.send_buffer = MPI_IN_PLACE; // then the sending side says nothing
        bool is_good = wrong >= 5;
        assert_int_equal(co_alltoallv_route(&call, COMM, CO_CALL_IALLTOALLV), is_good ? CO_TAKE : CO_BAD_ARGUMENT);
        communicator.seed.facts.has_proxies = false;
        assert_int_equal(co_alltoallv_route(&call, COMM, CO_CALL_IALLTOALLV), CO_NO_PROXY); // whatever they are
        communicator.seed.facts.has_proxies = true;
    }
    call = call_of(sent, ROW, ROW);
    call.send.counts = call.receive.counts = nothing;
    assert_int_equal(co_alltoallv_route(&call, COMM, CO_CALL_ALLTOALLV_INIT), CO_TAKE);
    assert_true(decided.call == CO_CALL_ALLTOALLV_INIT && call.mean_bytes == 0);
    call = routed(sent, ROW, ROW);
    assert_int_equal(call.mean_bytes, 7 * sizeof(int) / RANKS);
}

// Types of other extents: the own block has as many bytes in both.
static void contiguous_blocks_are_used_as_they_lie(void **state)
{
    (void)state;
    struct co_alltoallv_call call = routed(sent, ROW, ROW);
    struct co_alltoallv_buffers buffers;
    assert_int_equal(co_alltoallv_buffers_open(&buffers, &call), 0);
    assert_true(buffers.send == sent && buffers.receive == received);
    assert_true(buffers.packed_send == NULL && buffers.packed_receive == NULL);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(buffers.blocks[i].send_at, places[i] * (int)sizeof(int));
        assert_int_equal(buffers.blocks[i].send_bytes, counts[i] * (int)sizeof(int));
        assert_int_equal(buffers.blocks[i].receive_at, rooms[i] * (int)sizeof(int));
        assert_int_equal(buffers.blocks[i].receive_bytes, theirs[i] * (int)sizeof(int));
    }
    assert_int_equal(co_alltoallv_buffers_unpack(&buffers, &call), 0);
    assert_int_equal(received[rooms[1]], UNTOUCHED); // what came is there already
    co_alltoallv_buffers_close(&buffers);
    assert_null(buffers.blocks);
}

static const int *packed_at(const void *packed, int64_t at)
{
    return (const int *)(const void *)((const char *)packed + at);
}

static void gaps_are_packed_in_the_order_of_ranks(void **state)
{
    (void)state;
    struct co_alltoallv_call call = routed(sent, GAPS, ROW);
    struct co_alltoallv_buffers buffers;
    assert_int_equal(co_alltoallv_buffers_open(&buffers, &call), 0);
    assert_true(buffers.send == buffers.packed_send && buffers.receive == received && buffers.counts == NULL);
    assert_int_equal(buffers.blocks[0].send_at, 0);
    assert_int_equal(buffers.blocks[1].send_at, 2 * sizeof(int));
    assert_int_equal(buffers.blocks[2].send_at, 5 * sizeof(int));
    const int *block = packed_at(buffers.packed_send, buffers.blocks[1].send_at);
    assert_true(block[0] == 103 && block[1] == 106 && block[2] == 109); // from place 1, each three further
    assert_int_equal(packed_at(buffers.packed_send, 0)[0], 130);
    sent[3] = 7;
    assert_int_equal(co_alltoallv_buffers_fill(&buffers, &call), 0); // a later start of the same
    assert_int_equal(block[0], 7);
    co_alltoallv_buffers_close(&buffers);
}

// Of a receive with gaps: what comes is unpacked at its end, wherever the program's arrays are by then.
static void the_program_may_change_its_arrays(void **state)
{
    (void)state;
    int own_counts[RANKS], own_places[RANKS];
    struct co_alltoallv_call call = routed(sent, ROW, GAPS);
    struct co_alltoallv_buffers buffers;
    memcpy(own_counts, theirs, sizeof own_counts);
    memcpy(own_places, rooms, sizeof own_places);
    call.receive.counts = own_counts;
    call.receive.places = own_places;
    assert_int_equal(co_alltoallv_buffers_open(&buffers, &call), 0);
    assert_true(buffers.receive == buffers.packed_receive && buffers.send == sent);
    assert_int_equal(buffers.blocks[1].receive_at, 0);
    assert_int_equal(buffers.blocks[2].receive_at, 3 * sizeof(int));
    for (int i = 0; i < 7; i++) {
        ((int *)buffers.packed_receive)[i] = 1 + i;
    }
    memset(own_counts, 0x40, sizeof own_counts);
    memset(own_places, 0x40, sizeof own_places);
    assert_int_equal(co_alltoallv_buffers_unpack(&buffers, &call), 0);
    assert_true(received[36] == 1 && received[39] == 2 && received[42] == 3); // rank 1's, behind 12 extents of three
    assert_true(received[12] == 4 && received[15] == 5 && received[21] == 7); // rank 2's
    assert_true(received[37] == UNTOUCHED && received[0] == UNTOUCHED && received[24] == UNTOUCHED);
    co_alltoallv_buffers_close(&buffers);
}

// In place a copy is sent of what the receive buffer has, by the receiving side's lengths: what comes overwrites it.
static void in_place_a_copy_is_sent(void **state)
{
    (void)state;
    struct co_alltoallv_call call = routed(MPI_IN_PLACE, ROW, ROW);
    struct co_alltoallv_buffers buffers;
    received[rooms[2]] = 55;
    assert_int_equal(co_alltoallv_buffers_open(&buffers, &call), 0);
    assert_true(buffers.send == buffers.packed_send && buffers.receive == received);
    assert_int_equal(buffers.blocks[2].send_bytes, theirs[2] * (int)sizeof(int));
    assert_int_equal(buffers.blocks[2].receive_at, rooms[2] * (int)sizeof(int));
    received[rooms[2]] = 66;
    assert_int_equal(*packed_at(buffers.packed_send, buffers.blocks[2].send_at), 55);
    co_alltoallv_buffers_close(&buffers);
}

// Where nothing goes, nothing is packed, whatever the type.
static void nothing_is_not_packed(void **state)
{
    static int nothing[RANKS] = {0, 0, 0};
    (void)state;
    struct co_alltoallv_call call = call_of(sent, GAPS, GAPS);
    struct co_alltoallv_buffers buffers;
    call.send.counts = call.receive.counts = nothing;
    assert_int_equal(co_alltoallv_route(&call, COMM, CO_CALL_IALLTOALLV), CO_TAKE);
    assert_int_equal(co_alltoallv_buffers_open(&buffers, &call), 0);
    assert_true(buffers.packed_send == NULL && buffers.packed_receive == NULL);
    co_alltoallv_buffers_close(&buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_go_to_native),
        cmocka_unit_test(contiguous_blocks_are_used_as_they_lie),
        cmocka_unit_test(gaps_are_packed_in_the_order_of_ranks),
        cmocka_unit_test(the_program_may_change_its_arrays),
        cmocka_unit_test(in_place_a_copy_is_sent),
        cmocka_unit_test(nothing_is_not_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
