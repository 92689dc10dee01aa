// SPDX-License-Identifier: BSD-3-Clause
//
// Allgathers of blocks of unequal lengths, in virtual time: members that have nothing, places of each member's own with
// gaps between them, in chains and all at once, collected, kept in copies and not, on links that lose, and as soon over
// as the links allow.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "base/mix_bits.h"
#include "mcast_world.h"

enum { MOST = 9, OUTSTANDING = 6 };
#define UNTOUCHED 0xee

static const uint64_t LIMIT_NS = UINT64_C(60000000000);

struct gather {
    struct co_mcast_place places[MOST];
    unsigned char *buffer;
    size_t room;
};

typedef size_t (*length_of)(int member, unsigned seed);

// Of a third of the members nothing.
static size_t any_length(int member, unsigned seed)
{
    uint64_t chance = co_mix_bits(((uint64_t)seed << 8) + (uint64_t)member);
    return chance % 3 == 0 ? 0 : 1 + (chance >> 8) % (chance % 7 == 0 ? 6000 : 150);
}

static size_t of_one_alone(int member, unsigned seed)
{
    return member == (int)(seed % 4) ? 3001 : 0;
}

static size_t of_two(int member, unsigned seed)
{
    return member == (int)(seed % 4) ? 2001 : member == 4 ? 77 : 0;
}

static size_t small_length(int member, unsigned seed)
{
    return ((size_t)member + seed) % 3 == 0 ? 0 : 1 + ((size_t)member * 7 + seed) % 90;
}

static bool is_nothing(length_of length, int members, unsigned seed)
{
    size_t all = 0;
    for (int i = 0; i < members; i++) {
        all += length(i, seed);
    }
    return all == 0;
}

// Blocks from behind, the first one another on each member; without gaps in the members' order where `is_row`.
static struct gather prepare(int members, int rank, length_of length, unsigned seed, bool is_row)
{
    struct gather gather = {.buffer = NULL};
    size_t at = is_row ? 0 : 3;
    for (int turn = 0; turn < members; turn++) {
        int of = is_row ? turn : (members - turn + rank) % members;
        gather.places[of] = (struct co_mcast_place){at, length(of, seed)};
        at += gather.places[of].bytes + (is_row ? 0 : (size_t)((turn + rank) % 3) * 5);
    }
    gather.room = at + 1;
    gather.buffer = malloc(gather.room);
    memset(gather.buffer, UNTOUCHED, gather.room);
    pattern_fill(gather.buffer + gather.places[rank].offset, gather.places[rank].bytes, seed + (unsigned)rank);
    return gather;
}

static void check(struct gather *gather, int members, unsigned seed)
{
    for (int of = 0; of < members; of++) {
        unsigned char *block = gather->buffer + gather->places[of].offset;
        assert_true(pattern_matches(block, gather->places[of].bytes, seed + (unsigned)of));
        memset(block, UNTOUCHED, gather->places[of].bytes);
    }
    for (size_t i = 0; i < gather->room; i++) {
        assert_int_equal(gather->buffer[i], UNTOUCHED);
    }
    free(gather->buffer);
}

// So many outstanding at once.
static void gather(struct world *world, length_of length, unsigned seed, bool is_row, int count)
{
    int members = world->options.members;
    struct gather gathers[OUTSTANDING][MOST];
    struct co_mcast_op *ops[OUTSTANDING * MOST] = {NULL};
    for (int i = 0; i < count * members; i++) {
        int rank = i % members;
        unsigned own_seed = seed + 1000 * (unsigned)(i / members);
        struct gather *gather = &gathers[i / members][rank];
        *gather = prepare(members, rank, length, own_seed, is_row);
        if (!is_nothing(length, members, own_seed)) {
            assert_int_equal(co_mcast_allgatherv_start(&ops[i], world->group[rank], gather->buffer, gather->places,
                                                       co_loopback_now_ns(world->hub)),
                             0);
        }
    }
    world_run(world, ops, count * members, LIMIT_NS);
    for (int i = 0; i < count * members; i++) {
        if (ops[i] != NULL) {
            assert_int_equal(co_mcast_op_state(ops[i]), 1);
            co_mcast_op_release(ops[i]);
            check(&gathers[i / members][i % members], members, seed + 1000 * (unsigned)(i / members));
        } else {
            free(gathers[i / members][i % members].buffer);
        }
    }
}

static void any_lengths(void **state)
{
    (void)state;
    for (int members = 2; members <= MOST; members++) {
        struct world_options options = world_defaults(members);
        options.chains = (unsigned)members % 4;
        options.eager_bytes = members % 3 == 0 ? 0 : members % 3 == 1 ? 2000 : 100000;
        options.subgroups = members == 6 ? 3 : 1;
        struct world world;
        world_open(&world, &options);
        for (unsigned round = 0; round < 24; round++) {
            gather(&world, any_length, round, round % 4 == 0, 1);
            world_bcast(&world, (int)round % members, 100 + round * 33, round);
        }
        gather(&world, any_length, 99, false, OUTSTANDING);
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
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        struct world_options options = world_defaults(5);
        options.faults = plans[i];
        options.eager_bytes = i % 2 ? 0 : 5000;
        options.chains = (unsigned)i % 3;
        struct world world;
        world_open(&world, &options);
        for (unsigned round = 0; round < 16; round++) {
            gather(&world, any_length, round, false, 1 + (int)round % 3);
        }
        world_settle(&world, LIMIT_NS);
        world_close(&world);
    }
}

static void one_that_has_everything(void **state)
{
    (void)state;
    struct world_options options = world_defaults(5);
    struct world world;
    world_open(&world, &options);
    uint64_t sent = co_counter_read(CO_COUNT_DATA_SENT);
    for (unsigned round = 0; round < 8; round++) {
        gather(&world, of_one_alone, round, false, 2);
        gather(&world, of_two, round, false, 2);
    }
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT) - sent, 8 * 2 * (31 + 21 + 1)); // chunks of 100
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

// In a row as one member collects them; who has nothing contributes nothing.
static void collected(void **state)
{
    (void)state;
    for (int members = 4; members <= MOST; members++) {
        struct world_options options = world_defaults(members);
        options.collect_bytes = 4000;
        options.faults = members == 7 ? "drop=0.2,seed=3" : NULL;
        struct world world;
        world_open(&world, &options);
        assert_true(co_mcast_group_collects(world.group[0], 4000));
        assert_false(co_mcast_group_collects(world.group[0], 4001));
        for (unsigned round = 0; round < 12; round++) {
            uint64_t sent = co_counter_read(CO_COUNT_DATA_SENT);
            size_t all = 0;
            for (int i = 0; i < members; i++) {
                all += small_length(i, round);
            }
            gather(&world, small_length, round, true, 1);
            assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT) - sent, (all + 99) / 100);
        }
        gather(&world, small_length, 77, true, OUTSTANDING);
        world_settle(&world, LIMIT_NS);
        world_close(&world);
    }
}

// One block is ten times as long as the others: the link of each member carries what it has not at the full rate.
static size_t one_long(int member, unsigned seed)
{
    return member == (int)seed ? 1000000 : 100000;
}

static void one_long_block_takes_no_longer_than_the_links(void **state)
{
    (void)state;
    struct world_options options = world_defaults(8);
    options.chunk_bytes = 1400;
    options.bytes_per_s = options.port_bytes_per_s = 25000000; // 200 Mbit/s
    options.latency_ns = 50000;
    options.port_queue_bytes = 200000;
    options.window_bytes = 2 << 20;
    struct world world;
    world_open(&world, &options);
    gather(&world, one_long, 3, false, 1); // the path is learnt
    world_settle(&world, LIMIT_NS);
    uint64_t began = co_loopback_now_ns(world.hub);
    gather(&world, one_long, 3, false, 1);
    uint64_t took = co_loopback_now_ns(world.hub) - began;
    uint64_t limit = (uint64_t)1600000 * 40; // ns: 40 for a byte, and nearly all has to come to seven of the members
    assert_in_range(took, limit, limit * 115 / 100);
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_lengths),
        cmocka_unit_test(faults),
        cmocka_unit_test(one_that_has_everything),
        cmocka_unit_test(collected),
        cmocka_unit_test(one_long_block_takes_no_longer_than_the_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
