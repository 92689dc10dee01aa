// SPDX-License-Identifier: BSD-3-Clause
//
// Long blocks of an all-to-all go to a few members at a time: nearest first, to those that have called, and whoever is
// over gives its turn on. Bulk of the first rank's proxy is held, so that what it has sent shows to whom it sends.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_pattern.h"
#include "proxy_rig.h"

static struct proxy_rig rig;

enum { TEAM = 70, BLOCK = 40, RECEIVE = 512 }; // three records a block; where it comes to in a rank's memory
_Static_assert((int)BLOCK > (int)RIG_PIECE, "blocks are long");

static int say(int rank, struct co_offload_command command, const uint8_t *definition)
{
    return co_proxy_command(rig.proxies[rig.proxy_of_rank[rank]], rank, &command, definition,
                            co_offload_command_definition_bytes(&command));
}

static void open_team(int rank, uint64_t bytes)
{
    uint8_t members[RIG_RANKS * CO_OFFLOAD_MEMBER_BYTES];
    for (uint32_t i = 0; i < RIG_RANKS; i++) {
        co_little_endian_put(members + i * CO_OFFLOAD_MEMBER_BYTES, i, 4);
    }
    assert_int_equal(
        say(rank,
            (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_OPEN, .team = TEAM, .operations = RIG_RANKS},
            members),
        0);
    assert_int_equal(say(rank,
                         (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_ALLTOALL,
                                                     .group = 1,
                                                     .team = TEAM,
                                                     .send = RIG_BASE,
                                                     .receive = RIG_BASE + RECEIVE,
                                                     .bytes = bytes},
                         NULL),
                     0);
}

static bool has_from(int rank, int from)
{
    return proxy_rig_has(&rig, rank, RECEIVE + (uint32_t)from * BLOCK, BLOCK, (unsigned char)(from + 1));
}

static int by_one(void **state)
{
    proxy_rig_sources = 1;
    return proxy_rig_open_each(state);
}

static int by_two(void **state)
{
    proxy_rig_sources = 2;
    return proxy_rig_open_each(state);
}

static int close_rig(void **state)
{
    proxy_rig_sources = 0;
    return proxy_rig_close_state(state);
}

static void hold_bulk_of_first(bool is_held)
{
    for (int to = 1; to < RIG_RANKS; to++) {
        rig.is_held[0][to][CO_CARRIER_BULK] = is_held;
    }
}

// To whom the first one's proxy has sent something that is not delivered.
static bool is_on_its_way(int to)
{
    return proxy_rig_deliver_one(&rig, 0, to, CO_CARRIER_BULK);
}

static void all_have_called_held(int but)
{
    hold_bulk_of_first(true);
    for (int i = 0; i < RIG_RANKS; i++) {
        open_team(i, BLOCK);
        assert_int_equal(i == but ? 0 : proxy_rig_call(&rig, i, 1, 0), 0);
    }
    proxy_rig_run(&rig);
}

static void all_end_well(void)
{
    hold_bulk_of_first(false);
    proxy_rig_run(&rig);
    for (int i = 0; i < RIG_RANKS * RIG_RANKS; i++) {
        assert_int_equal(rig.result[i / RIG_RANKS][0], 0);
        assert_true(i / RIG_RANKS == i % RIG_RANKS || has_from(i / RIG_RANKS, i % RIG_RANKS));
    }
}

// Blocks of several records go one after the other, nearest first.
static void long_blocks_have_turns(void **state)
{
    (void)state;
    all_have_called_held(-1);
    assert_true(is_on_its_way(1) && !is_on_its_way(2) && !is_on_its_way(3));
    all_end_well();
}

static void so_many_at_a_time(void **state)
{
    (void)state;
    all_have_called_held(-1);
    assert_true(is_on_its_way(1) && is_on_its_way(2) && !is_on_its_way(3));
    all_end_well();
}

static void who_is_late_has_no_turn(void **state)
{
    (void)state;
    all_have_called_held(1);
    assert_true(!is_on_its_way(1) && is_on_its_way(2) && !is_on_its_way(3));
    assert_int_equal(proxy_rig_call(&rig, 1, 1, 0), 0);
    all_end_well();
}

// A nearer one that has called since has the turn at once, and whoever had it goes on behind it: else each rank would
// keep an order of its own.
static void who_calls_late_and_is_near_has_the_turn(void **state)
{
    (void)state;
    all_have_called_held(1);
    assert_int_equal(proxy_rig_call(&rig, 1, 1, 0), 0); // two of three records for the other one are on their way
    proxy_rig_run(&rig);
    hold_bulk_of_first(false);
    rig.is_held[0][1][CO_CARRIER_BULK] = true; // the near one's do not arrive, so its turn is not over
    proxy_rig_run(&rig);
    assert_false(has_from(2, 0) || has_from(3, 0));
    assert_true(is_on_its_way(1));
    all_end_well();
}

static void who_dies_gives_its_turn(void **state)
{
    (void)state;
    all_have_called_held(-1);
    co_proxy_rank_lost(rig.proxies[1], 1);
    hold_bulk_of_first(false);
    rig.is_held[0][1][CO_CARRIER_BULK] = true; // what goes there is taken by nobody
    proxy_rig_run(&rig);
    assert_true(has_from(2, 0) && has_from(3, 0));
    assert_int_equal(rig.result[0][0], -ECONNRESET);
}

// Those of one record, and what stays in a node, wait for nobody.
static void short_blocks_have_none(void **state)
{
    (void)state;
    for (int i = 0; i < RIG_RANKS; i++) {
        open_team(i, RIG_PIECE);
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
    }
    hold_bulk_of_first(true);
    proxy_rig_run(&rig);
    assert_true(is_on_its_way(1) && is_on_its_way(2) && is_on_its_way(3));
    hold_bulk_of_first(false);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
}

// clang-format off
#define BY(sources, test) cmocka_unit_test_prestate_setup_teardown(test, by_##sources, close_rig, &rig)
// clang-format on

int main(void)
{
    const struct CMUnitTest tests[] = {
        BY(one, long_blocks_have_turns),  BY(two, so_many_at_a_time),
        BY(one, who_is_late_has_no_turn), BY(one, who_calls_late_and_is_near_has_the_turn),
        BY(one, who_dies_gives_its_turn), BY(one, short_blocks_have_none),
    };
    proxy_rig_ends_max = 32;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
