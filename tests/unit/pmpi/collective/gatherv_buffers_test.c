// SPDX-License-Identifier: BSD-3-Clause
//
// The buffers of allgathers of unequal blocks between program and engine, with mpi.h but without an MPI: what is packed
// and what is used as it lies, places of blocks, what one rank gives that is of another size than the others expect,
// what the program may change meanwhile; and as which call an allgather of given blocks is decided, and by whom it is
// carried. Packing, communicators and the decision are the test's own; what they do together with MPI is tested by
// tests/mpi.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pmpi/collective/gatherv_buffers.h"

#include "around_buffers.h"

// Its facts are filled in by the routing, as in the library.
static struct co_gatherv_call gatherv(const int *send, int send_count, MPI_Datatype send_type, int *receive,
                                      const int *counts, const int *places, MPI_Datatype type)
{
    struct co_gatherv_call call = {.send = send,
                                   .send_count = send_count,
                                   .send_type = send_type,
                                   .receive = receive,
                                   .counts = counts,
                                   .places = places,
                                   .receive_type = type};
    assert_int_equal(co_gatherv_route(&call, COMM, CO_CALL_IALLGATHERV), CO_TAKE);
    assert_ptr_equal(call.communicator, &communicator);
    return call;
}

static void blocks_are_decided_by_what_they_are(void **state)
{
    static const int equal[] = {5, 5, 5}, alone[] = {0, 7, 0}, uneven[] = {1, 2, 4}, none[] = {0, 0, 0};
    static const int negative[] = {1, -1, 1}, huge[] = {INT32_MAX, INT32_MAX, 2}, places[] = {0, 10, 20};
    int send = 0, receive[30];
    (void)state;
    struct co_gatherv_call call = gatherv(&send, 5, ROW, receive, equal, places, ROW);
    assert_true(call.is_equal);
    assert_int_equal(decided.call, CO_CALL_IALLGATHERV);
    assert_int_equal(decided.as, CO_CALL_IALLGATHER);
    assert_int_equal(decided.bytes, 20);
    gatherv(&send, 7, ROW, receive, alone, places, ROW);
    assert_int_equal(decided.as, CO_CALL_IBCAST);
    assert_int_equal(decided.bytes, 28);
    call = gatherv(&send, 2, ROW, receive, uneven, places, ROW);
    assert_int_equal(decided.as, CO_CALL_IALLGATHERV);
    assert_int_equal(decided.bytes, 10); // 28 over 3, rounded up
    assert_int_equal(call.total_bytes, 28);
    assert_int_equal(call.largest_bytes, 16);
    call = gatherv(&send, 0, ROW, receive, none, places, ROW);
    assert_int_equal(decided.bytes, 0);
    call = gatherv(MPI_IN_PLACE, 0, NULL, receive, huge, places, ROW); // the sum is no int
    assert_true(call.total_bytes == ((size_t)2 * INT32_MAX + 2) * sizeof(int));
    call.counts = negative;
    assert_int_equal(co_gatherv_route(&call, COMM, CO_CALL_ALLGATHERV), CO_BAD_ARGUMENT);
    call.counts = NULL;
    assert_int_equal(co_gatherv_route(&call, COMM, CO_CALL_ALLGATHERV), CO_BAD_ARGUMENT);
}

static void expect_carried(const struct co_gatherv_call *call, enum co_call as, size_t bytes, bool is_by_proxies)
{
    assert_int_equal(carried.call, CO_CALL_IALLGATHERV);
    assert_int_equal(carried.as, as);
    assert_int_equal(carried.bytes, bytes);
    assert_int_equal(call->is_by_proxies, is_by_proxies);
}

// By the rows of what the blocks are, and of as many bytes as decide; nobody is asked where there are no proxies.
static void proxies_carry_blocks_by_what_they_are(void **state)
{
    static const int equal[] = {5, 5, 5}, small[] = {2, 2, 2}, alone[] = {0, 7, 0}, uneven[] = {1, 2, 5};
    static const int fewer[] = {1, 2, 4}, places[] = {0, 10, 20};
    int send = 0, receive[30];
    (void)state;
    carried.times = 0;
    struct co_gatherv_call call = gatherv(&send, 5, ROW, receive, equal, places, ROW);
    assert_false(call.is_by_proxies);
    assert_int_equal(carried.times, 0);
    communicator.seed.facts.has_proxies = true;
    call = gatherv(&send, 5, ROW, receive, equal, places, ROW);
    expect_carried(&call, CO_CALL_IALLGATHER, 20, true);
    call = gatherv(&send, 2, ROW, receive, small, places, ROW);
    expect_carried(&call, CO_CALL_IALLGATHER, 8, false);
    call = gatherv(&send, 7, ROW, receive, alone, places, ROW);
    expect_carried(&call, CO_CALL_IBCAST, 28, true);
    call = gatherv(&send, 2, ROW, receive, uneven, places, ROW);
    expect_carried(&call, CO_CALL_IALLGATHERV, 11, true);
    call = gatherv(&send, 2, ROW, receive, fewer, places, ROW);
    expect_carried(&call, CO_CALL_IALLGATHERV, 10, false);
    communicator.seed.facts.has_proxies = false;
}

// Who carries a persistent one has to be known to a member whose arguments are wrong: by the setting alone.
static void wrong_arguments_leave_who_carries(void **state)
{
    static const int counts[] = {1, 2, 5}, negative[] = {1, -1, 1}, places[] = {0, 10, 20};
    int send = 0, receive[30];
    (void)state;
    communicator.seed.facts.has_proxies = true;
    struct co_gatherv_call call = gatherv(&send, 2, ROW, receive, counts, places, ROW);
    assert_true(call.is_by_proxies);
    call.counts = negative;
    assert_int_equal(co_gatherv_route(&call, COMM, CO_CALL_ALLGATHERV_INIT), CO_BAD_ARGUMENT);
    assert_int_equal(carried.call, CO_CALL_ALLGATHERV_INIT);
    assert_int_equal(carried.as, CO_CALL_ALLGATHERV_INIT);
    assert_int_equal(carried.bytes, 0);
    assert_false(call.is_by_proxies); // what was found for other arguments does not stay
    communicator.seed.facts.has_proxies = false;
}

static void equal_blocks_in_a_row_are_an_allgather(void **state)
{
    static const int counts[] = {4, 4, 4}, in_a_row[] = {2, 6, 10}, apart[] = {0, 5, 10}, backwards[] = {8, 4, 0};
    int send[4] = {0}, receive[20];
    (void)state;
    struct co_gatherv_call call = gatherv(send, 4, ROW, receive, counts, in_a_row, ROW);
    assert_true(co_gatherv_is_row(&call));
    struct co_gather_call gather = co_gatherv_as_gather(&call);
    assert_ptr_equal(gather.receive, receive + 2);
    assert_int_equal(gather.receive_count, 4);
    assert_int_equal(gather.block_bytes, 16);
    call.places = apart;
    assert_false(co_gatherv_is_row(&call));
    call.places = backwards;
    assert_false(co_gatherv_is_row(&call));
}

static void blocks_in_the_programs_buffer_are_used_as_they_lie(void **state)
{
    static const int counts[] = {1, 2, 0}, places[] = {7, 3, 0};
    int send[] = {11, 12}, receive[9];
    struct co_gatherv_buffers buffers;
    (void)state;
    spoil(receive, 9);
    struct co_gatherv_call call = gatherv(send, 2, ROW, receive, counts, places, ROW);
    assert_int_equal(co_gatherv_buffers_open(&buffers, &call), 0);
    assert_null(buffers.packed);
    assert_ptr_equal(buffers.blocks[0].buffer, receive + 7);
    assert_int_equal(buffers.blocks[1].bytes, 8);
    assert_int_equal(buffers.blocks[2].bytes, 0);
    static const int expected[] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, 11, 12, UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED};
    assert_memory_equal(receive, expected, sizeof expected);
    send[0] = 21; // the next start of a persistent one
    assert_int_equal(co_gatherv_buffers_fill(&buffers, &call), 0);
    assert_int_equal(receive[3], 21);
    assert_int_equal(co_gatherv_buffers_unpack(&buffers, &call), 0);
    co_gatherv_buffers_close(&buffers);
    assert_null(buffers.blocks);
}

// Counts and places are the program's again before the end; gaps, and what is in place, are not written.
static void packed_blocks_come_to_their_places(void **state)
{
    int counts[] = {2, 1, 1}, places[] = {3, 0, 1}, receive[15], expected[15];
    struct co_gatherv_buffers buffers;
    (void)state;
    spoil(receive, 15);
    spoil(expected, 15);
    receive[0] = 5; // ours
    struct co_gatherv_call call = gatherv(MPI_IN_PLACE, 0, NULL, receive, counts, places, GAPS);
    assert_int_equal(co_gatherv_buffers_open(&buffers, &call), 0);
    static const int others[] = {100, 101, 5, 300};
    int *packed = buffers.packed;
    assert_int_equal(packed[2], 5);
    assert_ptr_equal(buffers.blocks[2].buffer, packed + 3);
    memcpy(packed, others, sizeof others);
    memset(counts, 0, sizeof counts);
    memset(places, 0, sizeof places);
    receive[0] = 6; // in place: not even the same bytes are written
    assert_int_equal(co_gatherv_buffers_unpack(&buffers, &call), 0);
    expected[0] = 6;
    expected[3] = 300;
    expected[9] = 100;
    expected[12] = 101;
    assert_memory_equal(receive, expected, sizeof expected);
    co_gatherv_buffers_close(&buffers);
}

// Equal ones that stand in no row are used as they lie, like all others.
static void equal_blocks_apart_are_not_packed(void **state)
{
    static const int counts[] = {1, 1, 1}, places[] = {4, 2, 0};
    int send[] = {9}, receive[5];
    struct co_gatherv_buffers buffers;
    (void)state;
    spoil(receive, 5);
    struct co_gatherv_call call = gatherv(send, 1, ROW, receive, counts, places, ROW);
    assert_int_equal(co_gatherv_buffers_open(&buffers, &call), 0);
    assert_null(buffers.packed);
    assert_ptr_equal(buffers.blocks[0].buffer, receive + 4);
    assert_ptr_equal(buffers.blocks[2].buffer, receive);
    assert_int_equal(co_gatherv_buffers_unpack(&buffers, &call), 0);
    static const int expected[] = {UNTOUCHED, UNTOUCHED, 9, UNTOUCHED, UNTOUCHED};
    assert_memory_equal(receive, expected, sizeof expected);
    co_gatherv_buffers_close(&buffers);
}

// The program's mistake: what fits takes part, and who gives more is told; what is not given is no memory of ours.
static void own_blocks_of_another_size_take_part(void **state)
{
    static const int counts[] = {2, 2, 1}, places[] = {0, 2, 4};
    int send[] = {1, 2, 3}, receive[5];
    struct co_gatherv_buffers buffers;
    (void)state;
    spoil(receive, 5);
    struct co_gatherv_call call = gatherv(send, 3, ROW, receive, counts, places, ROW);
    assert_int_equal(co_gatherv_buffers_open(&buffers, &call), 0);
    assert_int_equal(receive[2], 1);
    assert_int_equal(receive[3], 2);
    assert_int_equal(receive[4], UNTOUCHED);
    assert_int_equal(co_gatherv_buffers_unpack(&buffers, &call), -EMSGSIZE);
    co_gatherv_buffers_close(&buffers);
    int spread[13];
    spoil(spread, 13);
    call = gatherv(send, 1, ROW, spread, counts, places, GAPS);
    assert_int_equal(co_gatherv_buffers_open(&buffers, &call), 0);
    int *packed = buffers.packed;
    assert_int_equal(packed[2], 1);
    assert_int_equal(packed[3], 0);
    assert_int_equal(co_gatherv_buffers_unpack(&buffers, &call), 0);
    co_gatherv_buffers_close(&buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_decided_by_what_they_are),
        cmocka_unit_test(proxies_carry_blocks_by_what_they_are),
        cmocka_unit_test(wrong_arguments_leave_who_carries),
        cmocka_unit_test(equal_blocks_in_a_row_are_an_allgather),
        cmocka_unit_test(blocks_in_the_programs_buffer_are_used_as_they_lie),
        cmocka_unit_test(packed_blocks_come_to_their_places),
        cmocka_unit_test(equal_blocks_apart_are_not_packed),
        cmocka_unit_test(own_blocks_of_another_size_take_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
