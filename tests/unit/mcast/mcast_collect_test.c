// SPDX-License-Identifier: BSD-3-Clause
//
// Small allgathers by way of a collector, in virtual time: how few datagrams they take, lost contributions, collectors
// that come late or with full staging, several outstanding, uneven shares, different sizes on different members, and a
// collector that dies.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

enum { MEMBERS = 8, COLLECTOR = 0x1234567800000007 % MEMBERS }; // by the id that the world gives its team

static const uint64_t LIMIT_NS = UINT64_C(10000000000);

static struct world_options collecting(int members)
{
    struct world_options options = world_defaults(members);
    options.collect_bytes = 4000;
    return options;
}

static void one_datagram_each(void **state)
{
    (void)state;
    struct world_options options = collecting(MEMBERS);
    struct world world;
    world_open(&world, &options);
    uint64_t chunks = co_counter_read(CO_COUNT_DATA_SENT), again = co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN);
    uint64_t placed = co_counter_read(CO_COUNT_DATA_PLACED);
    world_allgather(&world, 12, 1); // 96 bytes in all: one chunk of 100
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT) - chunks, 1);
    assert_int_equal(co_counter_read(CO_COUNT_DATA_PLACED) - placed, 2 * (MEMBERS - 1));
    assert_int_equal(co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN) - again, 0);
    chunks = co_counter_read(CO_COUNT_DATA_SENT);
    world_allgather(&world, 501, 2); // above the limit: everybody multicasts
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT) - chunks, MEMBERS * 6);
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

// Few members collect few bytes: as many as the deliveries that it saves are worth.
static void small_by_number_of_members(void **state)
{
    (void)state;
    static const size_t small[] = {[3] = 2800, [4] = 8400, [5] = 16800, [6] = 28000, [7] = 32000, [8] = 32000};
    for (int members = 2; members <= 8; members++) {
        struct world_options options = collecting(members);
        options.collect_bytes = 32000;
        struct world world;
        world_open(&world, &options);
        assert_int_equal(co_mcast_group_collects(world.group[0], 1), members > 2);
        assert_int_equal(co_mcast_group_collects(world.group[0], small[members]), members > 2);
        assert_false(co_mcast_group_collects(world.group[0], small[members] + 1));
        size_t unit = small[members] / (size_t)members;
        for (size_t bytes = unit > 0 ? unit : 1; bytes <= unit + 1; bytes++) {
            size_t all = bytes * (size_t)members, blocks = (size_t)members * ((bytes + 99) / 100);
            uint64_t sent = co_counter_read(CO_COUNT_DATA_SENT);
            world_allgather(&world, bytes, (unsigned)bytes);
            assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT) - sent,
                             all <= small[members] ? (all + 99) / 100 : blocks);
        }
        world_settle(&world, LIMIT_NS);
        world_close(&world);
    }
}

static void any_size_and_number(void **state)
{
    (void)state;
    for (int members = 2; members <= 9; members++) {
        struct world_options options = collecting(members);
        options.form = members == 5 ? CO_AUTH_KEYED : CO_AUTH_CHECK;
        options.subgroups = members == 6 ? 3 : 1;
        struct world world;
        world_open(&world, &options);
        for (size_t bytes = 1; bytes < 600; bytes += 33) {
            world_allgather(&world, bytes, (unsigned)bytes);
            world_bcast(&world, (int)bytes % members, bytes * 3, (unsigned)bytes);
        }
        world_settle(&world, LIMIT_NS);
        world_close(&world);
    }
}

static void faults(void **state)
{
    (void)state;
    static const char *const plans[] = {"drop=0.3,kind=data,seed=1",       "drop=0.2,dup=0.3,reorder=0.3,seed=2",
                                        "corrupt=0.2,truncate=0.1,seed=3", "dup=1,seed=4",
                                        "drop=0.5,kind=control,seed=5",    "blackhole=1"};
    uint64_t again = co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN);
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        struct world_options options = collecting(6);
        options.faults = plans[i];
        options.eager_bytes = i % 2 ? 0 : 5000;
        struct world world;
        world_open(&world, &options);
        for (unsigned round = 0; round < 40; round++) {
            world_allgather(&world, 1 + round * 16, round);
        }
        world_settle(&world, LIMIT_NS);
        world_close(&world);
    }
    assert_true(co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN) > again);
}

// How long the broadcast takes that answers a contribution is no sign of loss: not the time of all contributions before
// a slow port, nor that of a long way, nor what the collector itself still has to send.
static void nothing_is_sent_again_where_nothing_is_lost(void **state)
{
    (void)state;
    static const struct {
        int members;
        size_t bytes;
        uint64_t bytes_per_s, latency_ns;
    } networks[] = {{16, 40, 250000, 50000},
                    {8, 40, 125000, 50000},
                    {32, 8, 125000, 50000},
                    {8, 500, 250000, 1000000},
                    {8, 40, UINT64_C(12500000), 50000000},
                    {4, 300, 125000, 50000}};
    for (size_t i = 0; i < sizeof(networks) / sizeof(*networks); i++) {
        struct world_options options = collecting(networks[i].members);
        options.bytes_per_s = options.port_bytes_per_s = networks[i].bytes_per_s;
        options.port_queue_bytes = 64000;
        options.latency_ns = networks[i].latency_ns;
        struct world world;
        world_open(&world, &options);
        world_allgather(&world, networks[i].bytes, 0); // how long the way is nobody knows before
        uint64_t again = co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN);
        for (unsigned round = 1; round < 10; round++) {
            world_allgather(&world, networks[i].bytes, round);
        }
        assert_int_equal(co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN) - again, 0);
        world_settle(&world, LIMIT_NS);
        world_close(&world);
    }
}

// What is lost is asked for, and nothing else is sent again.
static void only_what_is_lost_is_sent_again(void **state)
{
    (void)state;
    struct world_options options = collecting(MEMBERS);
    options.faults = "drop=0.04,kind=data,seed=7";
    struct world world;
    world_open(&world, &options);
    uint64_t again = co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN), lost = co_counter_read(CO_COUNT_FAULTS_INJECTED);
    for (unsigned round = 0; round < 100; round++) {
        world_allgather(&world, 12, round);
    }
    again = co_counter_read(CO_COUNT_CONTRIBUTED_AGAIN) - again;
    lost = co_counter_read(CO_COUNT_FAULTS_INJECTED) - lost;
    assert_true(again > 0);
    assert_true(again <= lost);
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

struct gather {
    struct co_mcast_op *op;
    unsigned char *buffer;
};

static struct gather start(struct world *world, int rank, size_t bytes, unsigned seed)
{
    struct gather gather = {NULL, calloc((size_t)world->options.members, bytes)};
    pattern_fill(gather.buffer + (size_t)rank * bytes, bytes, seed + (unsigned)rank);
    assert_int_equal(
        co_mcast_allgather_start(&gather.op, world->group[rank], gather.buffer, bytes, co_loopback_now_ns(world->hub)),
        0);
    return gather;
}

static void finish(struct world *world, struct gather *gather, size_t bytes, unsigned seed)
{
    assert_int_equal(co_mcast_op_state(gather->op), 1);
    for (int source = 0; source < world->options.members; source++) {
        assert_true(pattern_matches(gather->buffer + (size_t)source * bytes, bytes, seed + (unsigned)source));
    }
    co_mcast_op_release(gather->op);
    free(gather->buffer);
}

// The collector begins when the others' contributions have been here, and were given up, for long.
static void run_late_collector(size_t staging_bytes, int operations)
{
    struct world_options options = collecting(MEMBERS);
    options.staging_bytes = staging_bytes;
    struct world world;
    world_open(&world, &options);
    struct gather gathers[MEMBERS][32];
    struct co_mcast_op *ops[MEMBERS * 32];
    for (int rank = 0; rank < MEMBERS; rank++) {
        for (int i = 0; i < operations && rank != COLLECTOR; i++) {
            gathers[rank][i] = start(&world, rank, 40, (unsigned)i * 100);
        }
    }
    uint64_t until = co_loopback_now_ns(world.hub) + UINT64_C(300000000);
    while (co_loopback_now_ns(world.hub) < until) {
        assert_true(world_turn(&world));
    }
    for (int i = 0; i < operations; i++) {
        gathers[COLLECTOR][i] = start(&world, COLLECTOR, 40, (unsigned)i * 100);
    }
    for (int i = 0; i < MEMBERS * operations; i++) {
        ops[i] = gathers[i / operations][i % operations].op;
    }
    world_run(&world, ops, MEMBERS * operations, LIMIT_NS);
    for (int i = 0; i < MEMBERS * operations; i++) {
        finish(&world, &gathers[i / operations][i % operations], 40, (unsigned)(i % operations) * 100);
    }
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

static void late_collector(void **state)
{
    (void)state;
    run_late_collector(1 << 20, 1);
    run_late_collector(1 << 20, 32);
    uint64_t full = co_counter_read(CO_COUNT_STAGING_FULL);
    run_late_collector(1000, 32);
    assert_true(co_counter_read(CO_COUNT_STAGING_FULL) > full);
}

static void waiting_collector_tells_for_whom(void **state)
{
    (void)state;
    struct world_options options = collecting(MEMBERS);
    struct world world;
    world_open(&world, &options);
    struct gather gathers[MEMBERS];
    char text[200];
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (rank != 3) {
            gathers[rank] = start(&world, rank, 40, 1);
        }
    }
    for (int i = 0; i < 200; i++) {
        world_turn(&world);
    }
    co_mcast_op_describe(gathers[COLLECTOR].op, text, sizeof(text));
    assert_non_null(strstr(text, "contribution of rank 3"));
    gathers[3] = start(&world, 3, 40, 1);
    struct co_mcast_op *ops[MEMBERS];
    for (int rank = 0; rank < MEMBERS; rank++) {
        ops[rank] = gathers[rank].op;
    }
    world_run(&world, ops, MEMBERS, LIMIT_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        finish(&world, &gathers[rank], 40, 1);
    }
    world_close(&world);
}

// One member has other sizes than the rest, so that it sees no collector: an error on it and on the collector, no
// wrong bytes.
static void different_sizes(void **state)
{
    (void)state;
    for (int odd = 0; odd < MEMBERS; odd++) {
        struct world_options options = collecting(MEMBERS);
        struct world world;
        world_open(&world, &options);
        struct gather gathers[MEMBERS];
        for (int rank = 0; rank < MEMBERS; rank++) {
            gathers[rank] = start(&world, rank, rank == odd ? 900 : 40, 1);
        }
        uint64_t until = co_loopback_now_ns(world.hub) + UINT64_C(500000000);
        while (co_loopback_now_ns(world.hub) < until && world_turn(&world)) {
            for (int rank = 0; rank < MEMBERS; rank++) {
                assert_int_not_equal(co_mcast_op_state(gathers[rank].op), 1);
                if (co_mcast_op_state(gathers[rank].op) < 0) {
                    co_mcast_group_fail(world.group[rank], -EMSGSIZE); // what the engine does with a failed operation
                }
            }
        }
        for (int rank = 0; rank < MEMBERS; rank++) {
            assert_true(co_mcast_op_state(gathers[rank].op) < 0);
            co_mcast_op_release(gathers[rank].op);
        }
        world_close(&world);
        for (int rank = 0; rank < MEMBERS; rank++) {
            free(gathers[rank].buffer);
        }
    }
}

static void kill_member(struct world *world, int rank)
{
    co_loopback_kill(world->hub, rank);
    co_mcast_close(world->mcast[rank]);
    world->transport[rank]->ops->close(world->transport[rank]);
    co_auth_close(world->auth[rank]);
    world->mcast[rank] = NULL;
}

// Only who sends to the dead one is told of it, and a collector that waits has nothing to send.
static void dead_member(void **state)
{
    (void)state;
    for (int dead = 0; dead < MEMBERS; dead++) {
        struct world_options options = collecting(MEMBERS);
        struct world world;
        world_open(&world, &options);
        world_allgather(&world, 40, 1);
        world_settle(&world, LIMIT_NS);
        struct gather gathers[MEMBERS] = {{NULL, NULL}};
        struct co_mcast_op *ops[MEMBERS] = {NULL};
        kill_member(&world, dead);
        for (int rank = 0; rank < MEMBERS; rank++) {
            if (rank != dead) {
                gathers[rank] = start(&world, rank, 40, 2);
                ops[rank] = gathers[rank].op;
            }
        }
        world_run(&world, ops, MEMBERS, LIMIT_NS);
        for (int rank = 0; rank < MEMBERS; rank++) {
            if (rank != dead) {
                assert_true(co_mcast_op_state(ops[rank]) < 0);
                co_mcast_op_release(ops[rank]);
            }
            free(gathers[rank].buffer);
        }
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_datagram_each),
        cmocka_unit_test(small_by_number_of_members),
        cmocka_unit_test(any_size_and_number),
        cmocka_unit_test(faults),
        cmocka_unit_test(late_collector),
        cmocka_unit_test(waiting_collector_tells_for_whom),
        cmocka_unit_test(different_sizes),
        cmocka_unit_test(dead_member),
        cmocka_unit_test(nothing_is_sent_again_where_nothing_is_lost),
        cmocka_unit_test(only_what_is_lost_is_sent_again),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    world_is_like_verbs = true;
    return failed + cmocka_run_group_tests_name("over verbs", tests, NULL, NULL);
}
