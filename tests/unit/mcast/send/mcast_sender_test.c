// SPDX-License-Identifier: BSD-3-Clause
//
// Long blocks that a sending thread sends beside the holder of the endpoint: what comes in meanwhile, and what does not
// come, must not leave it waiting for ever. Here one thread plays both, in virtual time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mcast/state/operation.h"
#include "mcast_inside.h"
#include "mcast_world.h"

#define MS UINT64_C(1000000)
#define LONG_BYTES 300000
#define MEMBERS 3

static struct co_transport_ops ops_with_threads;
static const struct co_transport_ops *real_ops;
static const struct co_transport *muted; // what it sends is lost

static int no_lane(struct co_transport *transport, unsigned index)
{
    (void)transport;
    (void)index;
    return -1;
}

static int send_unless_muted(struct co_transport *transport, struct co_destination to,
                             const struct co_tx_datagram *batch, unsigned count)
{
    return transport == muted ? (int)count : real_ops->send(transport, to, batch, count);
}

// Every rank has a sending thread.
static void open_world(struct world *world)
{
    struct world_options options = world_defaults(MEMBERS);
    options.chunk_bytes = 1000;
    options.eager_bytes = 10000;
    options.window_bytes = 20000; // 20 chunks: each rank's share is one part of a block
    muted = NULL;
    world_open(world, &options);
    real_ops = world->transport[0]->ops;
    ops_with_threads = *real_ops;
    ops_with_threads.lane_open = no_lane; // says that threads may send beside the holder
    ops_with_threads.send = send_unless_muted;
    for (int rank = 0; rank < MEMBERS; rank++) {
        world->transport[rank]->ops = &ops_with_threads;
        assert_int_equal(co_mcast_sender_open(world->mcast[rank]), 0);
    }
}

static void pass(struct world *world, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < end && world_turn(world)) {
    }
}

// All sending threads send a part, if there is one; `between_ns` pass before they account for it. Whether any
// did.
static bool send_parts(struct world *world, uint64_t between_ns)
{
    bool has_part[MEMBERS], has_any = false;
    for (int rank = 0; rank < MEMBERS; rank++) {
        has_part[rank] = co_mcast_wants_sender(world->mcast[rank]) &&
                         co_mcast_send_begin(world->mcast[rank], co_loopback_now_ns(world->hub));
        has_any = has_any || has_part[rank];
        if (has_part[rank]) {
            co_mcast_send_run(world->mcast[rank]);
        }
    }
    pass(world, between_ns);
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (has_part[rank]) {
            co_mcast_send_end(world->mcast[rank], co_loopback_now_ns(world->hub));
        }
    }
    return has_any;
}

static bool are_under_way(struct co_mcast_op **ops)
{
    bool are = false;
    for (int rank = 0; rank < MEMBERS; rank++) {
        are = are || co_mcast_op_state(ops[rank]) == 0;
    }
    return are;
}

// A long allgather: until all blocks are there, nobody has anything to ask but for credit.
static void gather_long(struct world *world, uint64_t between_ns)
{
    struct co_mcast_op *ops[MEMBERS];
    size_t all = (size_t)MEMBERS * LONG_BYTES;
    unsigned char *data = calloc(MEMBERS, all);
    for (int rank = 0; rank < MEMBERS; rank++) {
        unsigned char *mine = data + (size_t)rank * all;
        pattern_fill(mine + (size_t)rank * LONG_BYTES, LONG_BYTES, (unsigned)rank);
        assert_int_equal(
            co_mcast_allgather_start(&ops[rank], world->group[rank], mine, LONG_BYTES, co_loopback_now_ns(world->hub)),
            0);
    }
    uint64_t limit = co_loopback_now_ns(world->hub) + 120000 * MS;
    while (are_under_way(ops) && co_loopback_now_ns(world->hub) < limit &&
           (send_parts(world, between_ns) || world_turn(world))) {
    }
    assert_false(are_under_way(ops));
    for (int rank = 0; rank < MEMBERS; rank++) {
        for (int source = 0; source < MEMBERS; source++) {
            assert_true(
                pattern_matches(data + (size_t)rank * all + (size_t)source * LONG_BYTES, LONG_BYTES, (unsigned)source));
        }
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        co_mcast_op_release(ops[rank]);
    }
    free(data);
}

// The receivers are done with a part, and have said so, before its sender comes to count it as sent.
static void credit_may_come_before_the_account(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    gather_long(&world, 20 * MS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(inside_unheard(world.group[rank]), 0);
    }
    world_close(&world);
}

// The window is full from the operations before, and the report that would open it is lost.
static void a_window_shut_from_the_start_is_asked_about(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    muted = world.transport[MEMBERS - 1];
    world_bcast(&world, 0, 10000, 1);
    world_bcast(&world, 0, 10000, 2);
    pass(&world, 1000 * MS);
    muted = NULL;
    assert_int_equal(inside_uncredited(world.group[0]), 20);
    gather_long(&world, 0);
    world_close(&world);
}

// One member is never heard: the end of the block is said again with patience that doubles, and not for ever; and once
// only by a source that was away for longer than all of that.
static void an_end_that_nobody_confirms_is_said_seven_times(void **state)
{
    (void)state;
    const size_t bytes = 20000;
    struct world world;
    struct co_mcast_op *ops[MEMBERS];
    unsigned char *data = calloc(MEMBERS, bytes);
    open_world(&world);
    muted = world.transport[1];
    for (int rank = 0; rank < MEMBERS; rank++) {
        uint64_t now_ns = co_loopback_now_ns(world.hub);
        assert_int_equal(
            co_mcast_bcast_start(&ops[rank], world.group[rank], 0, data + (size_t)rank * bytes, bytes, now_ns), 0);
    }
    while (ops[0]->ends == 0 && (send_parts(&world, 0) || world_turn(&world))) {
    }
    assert_int_equal(ops[0]->ends, 1);
    uint64_t later_ns = co_loopback_now_ns(world.hub) + 1000 * MS;
    for (unsigned turn = 0; turn < 5; turn++) {
        co_mcast_progress(world.mcast[0], later_ns + turn);
    }
    assert_int_equal(ops[0]->ends, 2);
    for (unsigned second = 0; second < 60; second++) {
        pass(&world, 1000 * MS);
    }
    assert_int_equal(ops[0]->ends, 7);
    muted = NULL;
    pass(&world, 10000 * MS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        co_mcast_op_release(ops[rank]);
    }
    free(data);
    world_close(&world);
}

// The transport reads the buffer after the sending thread has accounted for its part.
static void a_transport_may_read_late(void **state)
{
    (void)state;
    struct world world;
    world_is_like_verbs = true;
    open_world(&world);
    world_is_like_verbs = false;
    gather_long(&world, 0);
    assert_true(co_loopback_payloads(world.hub).from_regions >= MEMBERS * LONG_BYTES / 1000);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credit_may_come_before_the_account),
        cmocka_unit_test(a_window_shut_from_the_start_is_asked_about),
        cmocka_unit_test(an_end_that_nobody_confirms_is_said_seven_times),
        cmocka_unit_test(a_transport_may_read_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
