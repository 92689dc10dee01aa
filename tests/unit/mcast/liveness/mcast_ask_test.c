// SPDX-License-Identifier: BSD-3-Clause
//
// Asking a rank for a word outside of any group, in virtual time: one that lives answers and stays known as living, one
// whose process is gone is known as gone once its host has said so, and nobody else is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

enum { RANKS = 3, ASKS = 0, LIVES = 1, GOES = 2 };

// Until nothing is in flight any more.
static void settle(struct world *world)
{
    while (world_turn(world)) {
    }
}

static void who_lives_answers(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    settle(&world);
    uint64_t before = co_counter_read(CO_COUNT_CONTROL_RECEIVED);
    co_mcast_query_liveness(world.mcast[ASKS], LIVES);
    settle(&world);
    assert_int_equal(co_counter_read(CO_COUNT_CONTROL_RECEIVED) - before, 2); // the question and the answer
    assert_false(co_mcast_is_gone(world.mcast[ASKS], LIVES));
    assert_false(co_mcast_is_gone(world.mcast[LIVES], ASKS));
    world_close(&world);
}

static void who_is_gone_is_known_when_asked(void **state)
{
    (void)state;
    struct world_options options = world_defaults(RANKS);
    struct world world;
    world_open(&world, &options);
    settle(&world);
    struct co_mcast *gone = world.mcast[GOES];
    co_loopback_kill(world.hub, GOES);
    world.mcast[GOES] = NULL; // it moves no more
    settle(&world);
    assert_false(co_mcast_is_gone(world.mcast[ASKS], GOES)); // nobody has asked
    co_mcast_query_liveness(world.mcast[ASKS], GOES);
    assert_false(co_mcast_is_gone(world.mcast[ASKS], GOES)); // its host has not answered
    settle(&world);
    assert_true(co_mcast_is_gone(world.mcast[ASKS], GOES));
    assert_false(co_mcast_is_gone(world.mcast[ASKS], LIVES));
    assert_false(co_mcast_is_gone(world.mcast[LIVES], GOES)); // who has not asked does not know
    co_mcast_query_liveness(world.mcast[ASKS], GOES);         // again: no harm
    co_mcast_query_liveness(world.mcast[ASKS], LIVES);
    settle(&world);
    assert_true(co_mcast_is_gone(world.mcast[ASKS], GOES));
    assert_false(co_mcast_is_gone(world.mcast[ASKS], LIVES));
    world.mcast[GOES] = gone;
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_lives_answers),
        cmocka_unit_test(who_is_gone_is_known_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
