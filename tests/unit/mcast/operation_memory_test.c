// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers of operations on a transport that wants to be told of memory and reads it late (loopback with the manners of
// verbs). That whole jobs come out right there is for mcast_test.c and its like.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

enum { MEMBERS = 3, BYTES = 100000, OUTSTANDING = 3 };

#define LIMIT_NS (UINT64_C(60) * 1000000000)

static void open_world(struct world *world, unsigned regions_max)
{
    struct world_options options = world_defaults(MEMBERS);
    options.like_verbs = true;
    options.regions_max = regions_max;
    options.eager_bytes = 0;
    world_open(world, &options);
}

static struct co_mcast_op *start(struct world *world, int rank, unsigned char *buffer)
{
    struct co_mcast_op *op;
    uint64_t now_ns = co_loopback_now_ns(world->hub);
    assert_int_equal(co_mcast_bcast_start(&op, world->group[rank], 0, buffer, BYTES, now_ns), 0);
    return op;
}

static void blocks_leave_from_where_they_stand(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, 0);
    uint64_t sent = co_counter_read(CO_COUNT_DATA_SENT);
    world_bcast(&world, 1, BYTES, 1);
    world_allgather(&world, 5000, 2);
    sent = co_counter_read(CO_COUNT_DATA_SENT) - sent;
    assert_true(sent > 0);
    assert_int_equal(co_loopback_payloads(world.hub).from_regions, sent);
    world_close(&world);
}

static void small_ones_are_copied(void **state)
{
    (void)state;
    struct world world;
    open_world(&world, 0);
    world_bcast(&world, 1, CO_LOOPBACK_REGION_LEAST - 1, 1);
    world_allgather(&world, 10, 2);
    assert_int_equal(co_loopback_payloads(world.hub).from_regions, 0);
    world_close(&world);
}

static void a_root_may_send_what_cannot_be_written_to(void **state)
{
    (void)state;
    struct world world;
    struct co_mcast_op *ops[MEMBERS];
    unsigned char *constant = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static unsigned char buffer[MEMBERS][BYTES];
    assert_true(constant != MAP_FAILED);
    pattern_fill(constant, BYTES, 3);
    assert_int_equal(mprotect(constant, BYTES, PROT_READ), 0);
    open_world(&world, 0);
    for (int rank = 0; rank < MEMBERS; rank++) {
        ops[rank] = start(&world, rank, rank == 0 ? constant : buffer[rank]);
    }
    world_run(&world, ops, MEMBERS, LIMIT_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_true(rank == 0 || pattern_matches(buffer[rank], BYTES, 3));
        co_mcast_op_release(ops[rank]);
    }
    assert_true(co_loopback_payloads(world.hub).from_regions > 0);
    world_close(&world);
    munmap(constant, BYTES);
}

static void without_a_region_it_is_slower_and_no_less_right(void **state)
{
    (void)state;
    struct world world;
    struct co_mcast_op *ops[MEMBERS * OUTSTANDING];
    static unsigned char buffer[MEMBERS * OUTSTANDING][BYTES];
    open_world(&world, 1); // each member's first operation has the only one
    for (int i = 0; i < MEMBERS * OUTSTANDING; i++) {
        memset(buffer[i], 0, BYTES);
        if (i < OUTSTANDING) {
            pattern_fill(buffer[i], BYTES, (unsigned)i);
        }
        ops[i] = start(&world, i / OUTSTANDING, buffer[i]);
    }
    world_run(&world, ops, MEMBERS * OUTSTANDING, LIMIT_NS);
    for (int i = 0; i < MEMBERS * OUTSTANDING; i++) {
        assert_int_equal(co_mcast_op_state(ops[i]), 1);
        assert_true(pattern_matches(buffer[i], BYTES, (unsigned)(i % OUTSTANDING)));
        co_mcast_op_release(ops[i]);
    }
    struct co_loopback_payloads payloads = co_loopback_payloads(world.hub);
    assert_true(payloads.from_regions > 0);
    assert_true(payloads.copied >= (OUTSTANDING - 1) * BYTES / world.options.chunk_bytes);
    world_close(&world);
}

// Bytes that have yet to leave belong to the network, even when nobody wants them any more.
static void who_fails_gets_the_buffer_back_when_it_is_read_no_more(void **state)
{
    (void)state;
    struct world world;
    struct co_mcast_op *ops[MEMBERS];
    unsigned char *buffer[MEMBERS];
    open_world(&world, 0);
    for (int rank = 0; rank < MEMBERS; rank++) {
        buffer[rank] = calloc(1, BYTES);
        pattern_fill(buffer[rank], BYTES, 4);
        ops[rank] = start(&world, rank, buffer[rank]);
    }
    co_mcast_group_fail(world.group[0], -ECONNRESET);
    assert_true(co_mcast_op_is_being_read(ops[0]));
    assert_int_equal(co_mcast_op_state(ops[0]), 0);
    assert_int_equal(co_mcast_op_state(ops[1]), 0);
    world_run(&world, ops, MEMBERS, LIMIT_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), -ECONNRESET);
        assert_false(co_mcast_op_is_being_read(ops[rank]));
        co_mcast_op_release(ops[rank]);
        free(buffer[rank]);
    }
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

static void closing_in_mid_flight_leaves_nothing_behind(void **state)
{
    (void)state;
    struct world world;
    unsigned char *buffer[MEMBERS];
    open_world(&world, 0);
    for (int rank = 0; rank < MEMBERS; rank++) {
        buffer[rank] = calloc(1, BYTES);
        start(&world, rank, buffer[rank]);
    }
    world_close(&world); // the loopback counts its regions
    for (int rank = 0; rank < MEMBERS; rank++) {
        free(buffer[rank]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_leave_from_where_they_stand),
        cmocka_unit_test(small_ones_are_copied),
        cmocka_unit_test(a_root_may_send_what_cannot_be_written_to),
        cmocka_unit_test(without_a_region_it_is_slower_and_no_less_right),
        cmocka_unit_test(who_fails_gets_the_buffer_back_when_it_is_read_no_more),
        cmocka_unit_test(closing_in_mid_flight_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
