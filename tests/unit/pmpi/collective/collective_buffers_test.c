// SPDX-License-Identifier: BSD-3-Clause
//
// The buffers of broadcasts and allgathers between program and engine, with mpi.h but without an MPI: what is packed
// and what is used as it lies, and what one rank gives that is of another size than the others expect. Packing,
// communicators and the decision are the test's own; what they do together with MPI is tested by tests/mpi.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pmpi/collective/bcast_buffers.h"
#include "pmpi/collective/gather_buffers.h"

#include "around_buffers.h"

static struct co_gather_call gather(const int *send, int send_count, MPI_Datatype send_type, int *receive, int count,
                                    MPI_Datatype type)
{
    struct co_gather_call call = {.send = send,
                                  .send_count = send_count,
                                  .send_type = send_type,
                                  .receive = receive,
                                  .receive_count = count,
                                  .receive_type = type};
    assert_int_equal(co_gather_route(&call, COMM, CO_CALL_IALLGATHER), CO_TAKE);
    return call;
}

static void an_allgather_packs_the_side_that_needs_it(void **state)
{
    int send[] = {1, UNTOUCHED, UNTOUCHED, 2}, receive[6 * 3];
    struct co_gather_buffers buffers;
    (void)state;
    struct co_gather_call call = gather(send, 2, ROW, receive, 2, ROW);
    assert_int_equal(co_gather_buffers_open(&buffers, &call), 0);
    assert_ptr_equal(buffers.mine, send);
    assert_ptr_equal(buffers.all, receive);
    co_gather_buffers_close(&buffers);
    call = gather(send, 2, GAPS, receive, 2, ROW);
    assert_int_equal(co_gather_buffers_open(&buffers, &call), 0);
    assert_int_equal(((const int *)buffers.mine)[1], 2);
    assert_ptr_equal(buffers.all, receive);
    send[3] = 4;
    assert_int_equal(co_gather_buffers_fill(&buffers, &call), 0);
    assert_int_equal(((const int *)buffers.mine)[1], 4);
    co_gather_buffers_close(&buffers);
    spoil(receive, 18);
    call = gather(MPI_IN_PLACE, 0, NULL, receive, 2, GAPS);
    receive[6] = 7;
    receive[9] = 8;
    assert_int_equal(co_gather_buffers_open(&buffers, &call), 0);
    assert_null(buffers.mine);
    int *all = buffers.all;
    assert_int_equal(all[2], 7);
    assert_int_equal(all[3], 8);
    all[0] = 5;
    assert_int_equal(co_gather_buffers_unpack(&buffers, &call), 0);
    assert_int_equal(receive[0], 5);
    assert_int_equal(receive[1], UNTOUCHED);
    co_gather_buffers_close(&buffers);
    call = gather(send, 3, ROW, receive, 2, ROW); // gives more than the others expect
    assert_int_equal(co_gather_buffers_open(&buffers, &call), 0);
    assert_ptr_not_equal(buffers.mine, send);
    assert_int_equal(co_gather_buffers_unpack(&buffers, &call), -EMSGSIZE);
    co_gather_buffers_close(&buffers);
}

static struct co_bcast_call bcast(int *buffer, int count, int root, MPI_Datatype type)
{
    struct co_bcast_call call = {.buffer = buffer, .count = count, .root = root, .type = type};
    assert_int_equal(co_bcast_route(&call, COMM, CO_CALL_IBCAST), CO_TAKE);
    return call;
}

static void a_broadcast_packs_at_its_root_and_unpacks_what_came(void **state)
{
    int buffer[9];
    struct co_bcast_buffers buffers;
    (void)state;
    struct co_bcast_call call = bcast(buffer, 9, 0, ROW);
    assert_int_equal(co_bcast_buffers_open(&buffers, &call), 0);
    assert_ptr_equal(buffers.data, buffer);
    co_bcast_buffers_close(&buffers);
    spoil(buffer, 9);
    buffer[3] = 4;
    call = bcast(buffer, 3, 1, GAPS); // the root is this rank
    assert_int_equal(co_bcast_buffers_open(&buffers, &call), 0);
    assert_int_equal(((int *)buffers.data)[1], 4);
    ((int *)buffers.data)[1] = 0;
    assert_int_equal(co_bcast_buffers_unpack(&buffers, &call, 0, 12), 0);
    assert_int_equal(buffer[3], 4);
    co_bcast_buffers_close(&buffers);
    static const int came[] = {1, 2, 3};
    for (size_t given = 4; given <= 16; given += 4) { // fewer than there is room for, all, and more
        spoil(buffer, 9);
        call = bcast(buffer, 3, 0, GAPS);
        assert_int_equal(co_bcast_buffers_open(&buffers, &call), 0);
        memcpy(buffers.data, came, sizeof came);
        int error = given > 12 ? -EMSGSIZE : 0;
        assert_int_equal(co_bcast_buffers_unpack(&buffers, &call, error, given), error);
        for (size_t i = 0; i < 9; i++) {
            assert_int_equal(buffer[i], i % 3 == 0 && i / 3 * 4 < given ? came[i / 3] : UNTOUCHED);
        }
        co_bcast_buffers_close(&buffers);
    }
    spoil(buffer, 9);
    assert_int_equal(co_bcast_buffers_open(&buffers, &call), 0);
    assert_int_equal(co_bcast_buffers_unpack(&buffers, &call, -ECONNRESET, 12), -ECONNRESET);
    assert_int_equal(buffer[0], UNTOUCHED);
    co_bcast_buffers_close(&buffers);
}

// Numbers that one broadcast of native's takes before it and in all.
static void expect_skipped(void *buffer, int count, enum co_reason reason, int code, int before, int in_all)
{
    struct co_bcast_call call = {
        .buffer = buffer, .count = count, .type = ROW, .communicator = &communicator, .bytes = (size_t)count};
    skipped = 0;
    co_bcast_begin_native(&call, reason);
    assert_int_equal(skipped, before);
    co_bcast_end(&call, COMM, reason, code);
    assert_int_equal(skipped, in_all);
}

static void a_broadcast_of_natives_takes_a_number_if_it_is_made(void **state)
{
    int data[2];
    (void)state;
    expect_skipped(data, 2, CO_TOO_SMALL, MPI_SUCCESS, 1, 1);
    expect_skipped(data, 2, CO_FOUND_SLOWER, MPI_SUCCESS + 1, 1, 1); // an error of one that took part
    expect_skipped(data, 2, CO_TOO_SMALL, REFUSED, 1, 0);
    expect_skipped(NULL, 2, CO_TOO_SMALL, REFUSED, 0, 0);
    expect_skipped(NULL, 2, CO_TOO_SMALL, MPI_SUCCESS, 0, 1);
    expect_skipped(data, 2, CO_BAD_ARGUMENT, REFUSED, 0, 0);
    expect_skipped(data, 2, CO_BAD_ARGUMENT, MPI_SUCCESS, 0, 1);
    expect_skipped(data, 0, CO_ZERO_BYTES, MPI_SUCCESS, 0, 0);
    expect_skipped(data, 2, CO_ZERO_BYTES, MPI_SUCCESS, 0, 0);
    expect_skipped(data, 2, CO_UNEQUAL_LENGTHS, MPI_SUCCESS, 0, 0); // which has one
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allgather_packs_the_side_that_needs_it),
        cmocka_unit_test(a_broadcast_packs_at_its_root_and_unpacks_what_came),
        cmocka_unit_test(a_broadcast_of_natives_takes_a_number_if_it_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
