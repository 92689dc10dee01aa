// SPDX-License-Identifier: BSD-3-Clause
//
// A member whose multicast does not come any more, and comes again: what the first operations cost until it is known,
// and that nothing of it is left once a chunk has been heard. On links and switch ports with a rate, in virtual time.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { DEAF = 3, MANY = 24, CHUNK = 1400, SHORT = 4096, LONG = 16384 };

struct cost {
    uint64_t ns, requests, fetched;
};

static struct world world;

static void open_world(int members, unsigned mbit)
{
    struct world_options options = world_defaults(members);
    options.chunk_bytes = CHUNK;
    options.window_bytes = 2 << 20;
    options.staging_bytes = 8 << 20;
    options.eager_bytes = 65536;
    options.latency_ns = 50 * CO_NS_PER_US;
    options.bytes_per_s = options.port_bytes_per_s = mbit * UINT64_C(125000);
    options.egress_queue_bytes = options.port_queue_bytes = 256 << 10;
    world_open(&world, &options);
}

static struct cost look(struct cost before)
{
    return (struct cost){co_loopback_now_ns(world.hub) - before.ns,
                         co_counter_read(CO_COUNT_NACKS_SENT) - before.requests,
                         co_counter_read(CO_COUNT_RETRANSMITTED) - before.fetched};
}

static struct cost allgather(size_t bytes, unsigned seed)
{
    struct cost before = look((struct cost){0});
    world_allgather(&world, bytes, seed);
    struct cost cost = look(before);
    print_message("%u: %.3f ms, %" PRIu64 " requests, %" PRIu64 " bytes again\n", seed, (double)cost.ns / 1e6,
                  cost.requests, cost.fetched);
    return cost;
}

static struct cost bcast(size_t bytes, unsigned seed)
{
    struct cost before = look((struct cost){0});
    world_bcast(&world, 0, bytes, seed);
    return look(before);
}

static void leave(void)
{
    world.transport[DEAF]->ops->leave(world.transport[DEAF], 0);
}

static void join(void)
{
    assert_int_equal(world.transport[DEAF]->ops->join(world.transport[DEAF], 0), 0);
}

// What was asked for before stands in the port, and hides what comes: that silence is no reason to ask for it again.
static void who_hears_again_asks_no_more(void **state)
{
    (void)state;
    open_world(MANY, 10);
    struct cost hearing = allgather(SHORT, 0);
    leave();
    allgather(SHORT, 1);
    allgather(SHORT, 2);
    join();
    allgather(SHORT, 3);
    assert_int_equal(allgather(SHORT, 4).requests, 0);
    struct cost later = allgather(SHORT, 5);
    assert_int_equal(later.requests, 0);
    assert_true(later.ns < hearing.ns + hearing.ns / 10);
    world_close(&world);
}

// One source that is heard again speaks for all.
static void one_chunk_is_enough(void **state)
{
    (void)state;
    open_world(MANY, 100);
    allgather(LONG, 0);
    leave();
    allgather(LONG, 1);
    uint64_t all = allgather(LONG, 2).fetched;
    assert_true(all >= (MANY - 1) * (uint64_t)LONG);
    join();
    assert_true(allgather(LONG, 3).fetched < all * 3 / 4);
    world_close(&world);
}

static void nothing_of_anybody_is_soon_noticed(void **state)
{
    (void)state;
    open_world(MANY, 200);
    struct cost hearing = allgather(LONG, 0);
    leave();
    assert_true(allgather(LONG, 1).ns < 5 * hearing.ns);
    world_close(&world);
}

// Each block that came by repair alone makes the next one's silence more telling, not less.
static void nothing_again_is_noticed_sooner(void **state)
{
    (void)state;
    open_world(8, 200);
    struct cost hearing = bcast(LONG * 16, 0);
    leave();
    for (unsigned i = 1; i < 4; i++) {
        assert_true(bcast(LONG * 16, i).ns < 3 * hearing.ns);
    }
    world_close(&world);
}

// What was asked for may take longer than any clock says, and is on its way as long as some of it comes.
static void slow_answers_are_not_asked_for_again(void **state)
{
    (void)state;
    open_world(32, 2);
    allgather(2 * LONG, 0);
    leave();
    allgather(2 * LONG, 1);
    assert_true(allgather(2 * LONG, 2).fetched < 31 * (uint64_t)LONG * 3); // 5.4 of them
    world_close(&world);
}

// Anybody can send old chunks again: they say nothing of what is to come.
static void old_repairs_hide_nothing(void **state)
{
    (void)state;
    open_world(MANY, 100);
    static unsigned char data[MANY * SHORT];
    struct co_mcast_op *ops[MANY];
    assert_int_equal(co_mcast_allgather_start(&ops[DEAF], world.group[DEAF], data, SHORT, 0), 0);
    struct co_chunk old = {.source = DEAF, .is_repair = true, .chunk_bytes = CHUNK, .block_bytes = SHORT};
    uint64_t requests = co_counter_read(CO_COUNT_NACKS_SENT), end_ns = CO_NS_PER_S / 5, now_ns;
    while ((now_ns = co_loopback_now_ns(world.hub)) < end_ns) {
        inside_take_chunk(ops[DEAF], &old, data, CHUNK);
        co_mcast_progress(world.mcast[DEAF], now_ns);
        co_loopback_advance(world.hub, now_ns + CO_NS_PER_MS / 2);
    }
    assert_true(co_counter_read(CO_COUNT_NACKS_SENT) > requests);
    for (int rank = 0; rank < MANY; rank++) {
        static unsigned char others[MANY][MANY * SHORT];
        if (rank != DEAF) {
            assert_int_equal(co_mcast_allgather_start(&ops[rank], world.group[rank], others[rank], SHORT, now_ns), 0);
        }
    }
    world_run(&world, ops, MANY, 10 * CO_NS_PER_S);
    for (int rank = 0; rank < MANY; rank++) {
        co_mcast_op_release(ops[rank]);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_hears_again_asks_no_more),         cmocka_unit_test(one_chunk_is_enough),
        cmocka_unit_test(nothing_of_anybody_is_soon_noticed),   cmocka_unit_test(nothing_again_is_noticed_sooner),
        cmocka_unit_test(slow_answers_are_not_asked_for_again), cmocka_unit_test(old_repairs_hide_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
