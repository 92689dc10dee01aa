// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts are said to refuse what goes to their ranks, in virtual time: right or wrong, by a firewall for a moment or by
// a stranger for good, a rank that speaks stays, one that computes survives a moment of it, and one that is gone is
// noticed.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast_inside.h"
#include "mcast_world.h"

enum { RANKS = 4, VICTIM = 2 };
#define SECOND_NS UINT64_C(1000000000)
#define SOON_NS (SECOND_NS / 1000)

// For so long each rank hears, every millisecond, that all the others are unreachable, and what happens happens.
static void slander(struct world *world, uint64_t for_ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + for_ns;
    while (co_loopback_now_ns(world->hub) < end) {
        uint64_t next = co_loopback_now_ns(world->hub) + SOON_NS;
        for (int rank = 0; rank < RANKS; rank++) {
            for (int other = 0; other < RANKS; other++) {
                if (other != rank) {
                    co_loopback_refuse(world->hub, rank, other);
                }
            }
        }
        while (co_loopback_now_ns(world->hub) < next && world_turn(world)) {
        }
        co_loopback_advance(world->hub, next);
    }
}

static void require_all_alive(const struct world *world)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (int other = 0; other < RANKS; other++) {
            assert_false(co_mcast_is_gone(world->mcast[rank], other));
        }
        assert_int_equal(inside_dead_peers(world->mcast[rank]), 0);
        assert_int_equal(inside_group_error(world->group[rank]), 0);
    }
}

static void who_speaks_is_not_slandered_to_death(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    for (unsigned round = 0; round < 8; round++) {
        slander(&world, SECOND_NS / 2); // four seconds in all
        world_bcast(&world, (int)round % RANKS, 5000, round);
        world_allgather(&world, 700, round + 100);
    }
    require_all_alive(&world);
    world_close(&world);
}

// The victim moves no more, as one that computes, and its port is open: what the others ask it is not refused.
static void who_computes_survives_a_moment(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    struct co_mcast *computes = world.mcast[VICTIM];
    world.mcast[VICTIM] = NULL;
    for (int times = 0; times < 5; times++) {
        slander(&world, SECOND_NS / 20);
        uint64_t end = co_loopback_now_ns(world.hub) + 4 * SECOND_NS;
        while (co_loopback_now_ns(world.hub) < end && world_turn(&world)) {
        }
        co_loopback_advance(world.hub, end);
    }
    world.mcast[VICTIM] = computes;
    require_all_alive(&world);
    world_bcast(&world, 0, 5000, 7);
    world_close(&world);
}

static void who_is_gone_is_noticed(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    static unsigned char buffer[RANKS][RANKS * 5000];
    struct co_mcast_op *ops[RANKS] = {NULL};
    co_loopback_kill(world.hub, VICTIM);
    co_mcast_close(world.mcast[VICTIM]);
    world.transport[VICTIM]->ops->close(world.transport[VICTIM]);
    co_auth_close(world.auth[VICTIM]);
    world.mcast[VICTIM] = NULL;
    for (int rank = 0; rank < RANKS; rank++) {
        if (rank != VICTIM) {
            assert_int_equal(co_mcast_allgather_start(&ops[rank], world.group[rank], buffer[rank], 5000,
                                                      co_loopback_now_ns(world.hub)),
                             0);
        }
    }
    world_run(&world, ops, RANKS, 3 * SECOND_NS);
    for (int rank = 0; rank < RANKS; rank++) {
        if (rank != VICTIM) {
            assert_int_equal(co_mcast_op_state(ops[rank]), -ECONNRESET);
            co_mcast_op_release(ops[rank]);
        }
    }
    world_close(&world);
}

// A firewall shut for longer than is borne. The team is broken, but the rank is one that answers again.
static void who_was_given_up_and_speaks_lives(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    struct co_mcast *victim = world.mcast[VICTIM];
    world.mcast[VICTIM] = NULL;
    slander(&world, 2 * SECOND_NS);
    assert_true(co_mcast_is_gone(world.mcast[0], VICTIM));
    assert_false(co_mcast_is_gone(world.mcast[0], 1));
    assert_int_equal(inside_dead_peers(world.mcast[0]), 1);
    world.mcast[VICTIM] = victim;
    co_mcast_query_liveness(world.mcast[0], VICTIM);
    for (int i = 0; i < 1000 && co_mcast_is_gone(world.mcast[0], VICTIM); i++) {
        world_turn(&world);
    }
    assert_false(co_mcast_is_gone(world.mcast[0], VICTIM));
    assert_int_equal(inside_dead_peers(world.mcast[0]), 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_speaks_is_not_slandered_to_death),
        cmocka_unit_test(who_computes_survives_a_moment),
        cmocka_unit_test(who_is_gone_is_noticed),
        cmocka_unit_test(who_was_given_up_and_speaks_lives),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    world_is_like_verbs = true;
    return failed + cmocka_run_group_tests_name("over verbs", tests, NULL, NULL);
}
