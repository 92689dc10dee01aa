// SPDX-License-Identifier: BSD-3-Clause
//
// Groups that come and go: ten thousand in a row, closed the moment their only operation is done, with and without
// loss, and with a member that is late to it. Nothing may grow, and nobody may miss the bytes.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { MEMBERS = 3, BYTES = 150 };

static void open_all(struct world *world, struct co_mcast_group *group[MEMBERS], uint64_t id)
{
    static const int members[MEMBERS] = {0, 1, 2};
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(world_group_open(&group[rank], world->mcast[rank], id, members, NULL, MEMBERS, rank), 0);
    }
}

// One Bcast; each member closes the group as soon as it is done there. `late` starts after the others may have gone.
static void bcast_and_close(struct world *world, struct co_mcast_group *group[MEMBERS], unsigned seed, int late)
{
    unsigned char data[MEMBERS][BYTES];
    struct co_mcast_op *ops[MEMBERS] = {NULL};
    int root = (int)(seed % MEMBERS), open = MEMBERS, turns = 0;
    memset(data, 0, sizeof(data));
    pattern_fill(data[root], BYTES, seed);
    while (open > 0) {
        for (int rank = 0; rank < MEMBERS; rank++) {
            if (ops[rank] == NULL && group[rank] != NULL && (rank != late || turns > 30)) {
                assert_int_equal(co_mcast_bcast_start(&ops[rank], group[rank], root, data[rank], BYTES,
                                                      co_loopback_now_ns(world->hub)),
                                 0);
            }
            if (ops[rank] != NULL && co_mcast_op_state(ops[rank]) != 0) {
                assert_int_equal(co_mcast_op_state(ops[rank]), 1);
                assert_true(pattern_matches(data[rank], BYTES, seed));
                memset(data[rank], 0xdb, BYTES);
                co_mcast_op_release(ops[rank]);
                co_mcast_group_close(group[rank]);
                ops[rank] = NULL;
                group[rank] = NULL;
                open--;
            }
        }
        assert_true(++turns < 100000);
        world_turn(world);
    }
}

static void come_and_go(const struct world_options *options, unsigned count, bool with_late)
{
    struct world world;
    world_open(&world, options);
    for (unsigned i = 0; i < count; i++) {
        struct co_mcast_group *group[MEMBERS];
        open_all(&world, group, ((uint64_t)i << 32) + i % 7);
        bcast_and_close(&world, group, i, with_late ? (int)(i / 2 % MEMBERS) : -1);
    }
    // A report that was lost is asked for again; nobody waits until the copy is given up.
    world_settle(&world, UINT64_C(2000000000));
    for (int rank = 0; rank < MEMBERS; rank++) {
        inside_require_few_left(world.mcast[rank]);
    }
    world_close(&world);
}

static void ten_thousand(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    come_and_go(&options, 10000, false);
}

static void with_loss(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    options.faults = "drop=0.2,reorder=0.1,seed=3";
    come_and_go(&options, 400, false);
    options.faults = "drop=0.5,kind=control,seed=4"; // final reports above all
    come_and_go(&options, 400, true);
}

static void late_members(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    come_and_go(&options, 400, true);
    options.staging_bytes = 200; // nothing fits: all is repaired from copies, or waits for the neighbour
    options.faults = "drop=0.1,seed=6";
    come_and_go(&options, 200, true);
}

// The neighbour has missed the only datagram, and comes when the copy has been given up: it is told, and does not ask
// for ever.
static void a_copy_that_was_given_up(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    options.faults = "blackhole=1";
    struct world world;
    world_open(&world, &options);
    unsigned char data[2][BYTES] = {{1}, {0}};
    struct co_mcast_op *ops[2];
    assert_int_equal(co_mcast_bcast_start(&ops[0], world.group[0], 0, data[0], BYTES, co_loopback_now_ns(world.hub)),
                     0);
    co_mcast_progress(world.mcast[0], co_loopback_now_ns(world.hub));
    assert_int_equal(co_mcast_op_state(ops[0]), 1);
    co_mcast_op_release(ops[0]);
    co_mcast_group_close(world.group[0]);
    for (int i = 0; inside_kept_bytes(world.mcast[0]) > 0; i++) {
        assert_true(i < 2000);
        co_loopback_advance(world.hub, co_loopback_now_ns(world.hub) + 10 * CO_NS_PER_MS);
        co_mcast_progress(world.mcast[0], co_loopback_now_ns(world.hub));
    }
    assert_int_equal(co_mcast_bcast_start(&ops[1], world.group[1], 0, data[1], BYTES, co_loopback_now_ns(world.hub)),
                     0);
    for (int turns = 0; co_mcast_op_state(ops[1]) == 0; turns++) {
        assert_true(turns < 100000);
        world_turn(&world);
    }
    assert_int_equal(co_mcast_op_state(ops[1]), -ECONNRESET);
    co_mcast_op_release(ops[1]);
    world.group[0] = NULL;
    world_close(&world);
}

// A bit for each of 640 chunks and a few more: at each end, and once more at whom a deaf neighbour asks.
static void bitmaps(void **state)
{
    enum { CHUNKS = 641, ONE = 11 * 8 };
    static const char *const faults[] = {NULL, "blackhole=1"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world_options options = world_defaults(MEMBERS);
        options.faults = faults[i];
        struct world world;
        world_open(&world, &options);
        co_store_relaxed(&co_counter_values[CO_COUNT_BITMAP_HIGH], 0); // relaxed: one thread
        world_bcast(&world, 0, CHUNKS * options.chunk_bytes, 1);
        assert_int_equal(co_counter_read(CO_COUNT_BITMAP_HIGH), i == 0 ? ONE : 2 * ONE);
        world_allgather(&world, CHUNKS * options.chunk_bytes, 2);
        assert_in_range(co_counter_read(CO_COUNT_BITMAP_HIGH), MEMBERS * ONE, (MEMBERS * 2 + 1) * ONE);
        world_settle(&world, UINT64_C(2000000000));
        for (int rank = 0; rank < MEMBERS; rank++) {
            assert_int_equal(inside_bitmap_bytes(world.mcast[rank]), 0);
        }
        world_close(&world);
    }
}

static void memory_of_a_group(void **state)
{
    (void)state;
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        struct world_options options = world_defaults(32 << i);
        struct world world;
        world_open(&world, &options);
        bytes[i] = co_mcast_group_bytes(world.group[0]);
        world_close(&world);
    }
    // For a member fifteen words, and of each of two lists a place and a mark.
    assert_int_equal(bytes[1] - bytes[0], 32 * (15 * sizeof(uint32_t) + 2 * (sizeof(uint16_t) + sizeof(bool))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand), cmocka_unit_test(with_loss),
        cmocka_unit_test(late_members), cmocka_unit_test(a_copy_that_was_given_up),
        cmocka_unit_test(bitmaps),      cmocka_unit_test(memory_of_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
