// SPDX-License-Identifier: BSD-3-Clause
//
// Repairs without waste: a request that comes before the operation has begun is answered by the chunks it names and no
// others; the word that a block has been sent comes although the block has filled the queue.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast/state/operation.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { CHUNK = 100, CHUNKS = 60 };

static void start(struct world *world, struct co_mcast_op **op, int rank, unsigned char *data)
{
    assert_int_equal(
        co_mcast_bcast_start(op, world->group[rank], 0, data, CHUNK * CHUNKS, co_loopback_now_ns(world->hub)), 0);
}

static void an_early_request_is_answered_exactly(void **state)
{
    (void)state;
    struct world_options options = world_defaults(3);
    options.faults = "script=3:40,kind=data"; // missed by both receivers
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *ops[3] = {NULL};
    unsigned char data[3][CHUNK * CHUNKS];
    pattern_fill(data[0], sizeof(data[0]), 1);
    uint64_t fetched = co_counter_read(CO_COUNT_RETRANSMITTED), asked = co_counter_read(CO_COUNT_NACKS_SENT);
    start(&world, &ops[0], 0, data[0]);
    start(&world, &ops[2], 2, data[2]); // its left neighbour is late
    uint64_t late_ns = co_loopback_now_ns(world.hub) + 3000000;
    while (co_loopback_now_ns(world.hub) < late_ns) {
        assert_true(world_turn(&world));
    }
    assert_true(co_counter_read(CO_COUNT_NACKS_SENT) > asked);
    assert_int_equal(co_counter_read(CO_COUNT_RETRANSMITTED), fetched);
    start(&world, &ops[1], 1, data[1]);
    world_run(&world, ops, 3, 1000000000);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        assert_true(pattern_matches(data[rank], sizeof(data[rank]), 1));
        co_mcast_op_release(ops[rank]);
    }
    assert_int_equal(co_counter_read(CO_COUNT_RETRANSMITTED) - fetched, 2 * 2 * CHUNK);
    world_settle(&world, 1000000000);
    world_close(&world);
}

static uint64_t broadcast_ns(const char *faults)
{
    struct world_options options = world_defaults(8);
    options.chunk_bytes = 1432;
    options.window_bytes = 512 << 10;
    options.faults = faults;
    struct world world;
    world_open(&world, &options);
    uint64_t begin_ns = co_loopback_now_ns(world.hub);
    world_bcast(&world, 0, 1 << 20, 7);
    uint64_t ns = co_loopback_now_ns(world.hub) - begin_ns;
    world_close(&world);
    return ns;
}

static void the_end_is_told_although_the_queue_is_full(void **state)
{
    (void)state; // a member who missed the last chunk waited for the cutoff of long blocks
    uint64_t whole_ns = broadcast_ns(NULL);
    uint64_t ns = broadcast_ns("script=732,kind=data");
    print_message("the last chunk lost costs %" PRIu64 " us\n", (ns - whole_ns) / 1000);
    assert_true(ns < whole_ns + 2000000);
}

static void a_guess_with_many_gaps_is_told_the_end_once(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    options.eager_bytes = 0;
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *ops[2] = {NULL};
    unsigned char data[2][CHUNK * CHUNKS];
    pattern_fill(data[0], sizeof(data[0]), 1);
    start(&world, &ops[0], 0, data[0]);
    while (ops[0]->next_psn < CHUNKS) {
        assert_true(world_turn(&world));
    }
    const struct co_nack_body nack = {.why = CO_NACK_GUESS};
    struct co_nack_range ranges[CHUNKS / 2];
    for (uint32_t i = 0; i < CHUNKS / 2; i++) {
        ranges[i] = (struct co_nack_range){2 * i, 1};
    }
    uint8_t body[CO_CONTROL_MAX];
    struct co_control control = {.operation = ops[0]->number, .entries = CHUNKS / 2};
    co_wire_nack_encode(body, &nack, ranges, CHUNKS / 2);
    uint64_t sent = co_counter_read(CO_COUNT_CONTROL_SENT);
    uint64_t repaired = co_counter_read(CO_COUNT_RETRANSMITTED);
    inside_receive_nack(world.group[0], 1, &control, body);
    inside_retransmit(world.mcast[0]);
    assert_int_equal(co_counter_read(CO_COUNT_CONTROL_SENT) - sent, 1);
    assert_int_equal(co_counter_read(CO_COUNT_RETRANSMITTED), repaired);
    start(&world, &ops[1], 1, data[1]);
    world_run(&world, ops, 2, 1000000000);
    assert_true(pattern_matches(data[1], sizeof(data[1]), 1));
    co_mcast_op_release(ops[0]);
    co_mcast_op_release(ops[1]);
    world_settle(&world, 1000000000);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_early_request_is_answered_exactly),
        cmocka_unit_test(a_guess_with_many_gaps_is_told_the_end_once),
        cmocka_unit_test(the_end_is_told_although_the_queue_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
