// SPDX-License-Identifier: BSD-3-Clause
//
// The buffers of broadcasts and allgathers between program and engine, with mpi.h but without an MPI: what is packed
// and what is used as it lies, places of blocks, what one rank gives that is of another size than the others expect,
// what the program may change meanwhile; and as which call an allgather of given blocks is decided. Packing,
// communicators and the decision are the test's own; what they do together with MPI is tested by tests/mpi.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer_cache.h"
#include "pmpi/collective/bcast_buffers.h"
#include "pmpi/collective/gatherv_buffers.h"
#include "pmpi/datatype/packing.h"

#define RANKS 3
#define UNTOUCHED (-77)

// What stands around the three files.
struct co_process co_process;
struct co_next_mpi co_next;
bool co_device_memory_is_taken;
struct co_datatype_cell co_datatype_cells[CO_DATATYPE_CELLS];
_Thread_local struct co_communicators_cache co_communicators_cache;
_Atomic unsigned co_communicators_generation;

static struct co_communicator communicator = {.seed = {.rank = 1, .facts = {.ranks = RANKS}}};
static const struct co_datatype row = {.bytes = sizeof(int), .extent = sizeof(int), .is_contiguous = true};
static const struct co_datatype gaps = {.bytes = sizeof(int), .extent = 3 * sizeof(int), .is_contiguous = false};
static enum co_call asked, asked_as;
static size_t asked_bytes;
static char handles[3]; // their addresses: of a communicator, of `row`, of `gaps`

#define COMM ((MPI_Comm)(void *)&handles[0])
#define ROW ((MPI_Datatype)(void *)&handles[1])
#define GAPS ((MPI_Datatype)(void *)&handles[2])

struct co_communicator *co_communicators_find_slowly(MPI_Comm comm, unsigned generation)
{
    (void)generation;
    return comm == COMM ? &communicator : NULL;
}

bool co_route_program_type(ptrdiff_t count, MPI_Datatype type, bool sends, struct co_datatype *facts)
{
    (void)sends;
    *facts = type == GAPS ? gaps : row;
    return count >= 0 && (type == ROW || type == GAPS);
}

enum co_reason co_route_first_calls(struct co_communicator *of, enum co_call call, int root, size_t bytes, uint64_t *ns)
{
    (void)of, (void)call, (void)root, (void)bytes, (void)ns;
    return CO_TAKE;
}

enum co_reason co_team_decide_as(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                                 enum co_call other, size_t bytes)
{
    (void)engine, (void)facts;
    return asked = call, asked_as = other, asked_bytes = bytes, CO_TAKE;
}

bool co_team_decide_by_proxies(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                               enum co_call other, size_t bytes)
{
    return (void)engine, (void)facts, (void)call, (void)other, bytes > 0;
}

enum co_reason co_team_decide(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                              size_t bytes)
{
    return co_team_decide_as(engine, facts, call, call, bytes);
}

enum co_reason co_team_choose(struct co_team *team, enum co_call call, int root, size_t bytes, uint64_t *trial_ns)
{
    return (void)team, (void)call, (void)root, (void)bytes, (void)trial_ns, CO_TAKE;
}

enum co_reason co_team_choose_at_once(const struct co_team *team, enum co_call call, size_t bytes)
{
    return (void)team, (void)call, (void)bytes, CO_TAKE;
}

bool co_packing_is_on_device(const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    (void)buffer, (void)count, (void)type, (void)facts;
    return false;
}

int co_pack(void *packed, const void *buffer, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    (void)type;
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)packed + i * facts->bytes, (const char *)buffer + (ptrdiff_t)i * facts->extent, facts->bytes);
    }
    return 0;
}

int co_unpack_part(void *buffer, const void *packed, size_t bytes, size_t count, MPI_Datatype type,
                   const struct co_datatype *facts)
{
    (void)type;
    for (size_t i = 0; i < count && i * facts->bytes < bytes; i++) {
        memcpy((char *)buffer + (ptrdiff_t)i * facts->extent, (const char *)packed + i * facts->bytes, facts->bytes);
    }
    return 0;
}

int co_unpack(void *buffer, const void *packed, size_t count, MPI_Datatype type, const struct co_datatype *facts)
{
    return co_unpack_part(buffer, packed, count * facts->bytes, count, type, facts);
}

static void spoil(int *ints, int count)
{
    for (int i = 0; i < count; i++) {
        ints[i] = UNTOUCHED;
    }
}

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
    co_process.engine = (struct co_engine *)(void *)handles;
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
    assert_int_equal(asked, CO_CALL_IALLGATHERV);
    assert_int_equal(asked_as, CO_CALL_IALLGATHER);
    assert_int_equal(asked_bytes, 20);
    gatherv(&send, 7, ROW, receive, alone, places, ROW);
    assert_int_equal(asked_as, CO_CALL_IBCAST);
    assert_int_equal(asked_bytes, 28);
    call = gatherv(&send, 2, ROW, receive, uneven, places, ROW);
    assert_int_equal(asked_as, CO_CALL_IALLGATHERV);
    assert_int_equal(asked_bytes, 10); // 28 over 3, rounded up
    assert_int_equal(call.total_bytes, 28);
    assert_int_equal(call.largest_bytes, 16);
    call = gatherv(&send, 0, ROW, receive, none, places, ROW);
    assert_int_equal(asked_bytes, 0);
    call = gatherv(MPI_IN_PLACE, 0, NULL, receive, huge, places, ROW); // the sum is no int
    assert_true(call.total_bytes == ((size_t)2 * INT32_MAX + 2) * sizeof(int));
    call.counts = negative;
    assert_int_equal(co_gatherv_route(&call, COMM, CO_CALL_ALLGATHERV), CO_BAD_ARGUMENT);
    call.counts = NULL;
    assert_int_equal(co_gatherv_route(&call, COMM, CO_CALL_ALLGATHERV), CO_BAD_ARGUMENT);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_decided_by_what_they_are),
        cmocka_unit_test(equal_blocks_in_a_row_are_an_allgather),
        cmocka_unit_test(blocks_in_the_programs_buffer_are_used_as_they_lie),
        cmocka_unit_test(packed_blocks_come_to_their_places),
        cmocka_unit_test(equal_blocks_apart_are_not_packed),
        cmocka_unit_test(own_blocks_of_another_size_take_part),
        cmocka_unit_test(an_allgather_packs_the_side_that_needs_it),
        cmocka_unit_test(a_broadcast_packs_at_its_root_and_unpacks_what_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
