// SPDX-License-Identifier: BSD-3-Clause
//
// Trials beside other programs, in virtual time: who loses its processor is repeated and not charged, and a race of
// which too little is known changes nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adapt_world.h"
#include "base/mix_bits.h"

// Beside other programs: a class has its verdict by its sixteenth call, the right one, and what others took of the
// processor is neither a way's loss nor the budget's.
static void who_loses_its_processor_is_not_charged(void **state)
{
    (void)state;
    static struct adapt_world world;
    unsigned doubts = 0;
    for (unsigned seed = 1; seed <= 400; seed++) {
        adapt_world_open_simple(&world, 10000, 17000, (enum co_adapt_way)(seed % CO_ADAPT_WAYS));
        world.random = co_mix_bits(seed);
        world.away = 60; // a quarter of the trials, with four members
        while (adapt_world_class(&world, 0)->phase != CO_ADAPT_STANDS) {
            assert_true(world.calls < 16);
            adapt_world_call(&world, 0);
        }
        assert_true(world.spent_ns < 200000);
        assert_true(adapt_world_class(&world, 0)->excess_ns < 200000);
        bool is_in_doubt = adapt_world_class(&world, 0)->doubts > 0;
        doubts += is_in_doubt;
        assert_int_equal(adapt_world_way(&world, 0), is_in_doubt ? world.prior[0] : CO_ADAPT_NATIVE);
        adapt_world_run(&world, 3 * (CO_ADAPT_DOUBT_CALLS + 20));
        assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
    }
    assert_in_range(doubts, 1, 40);
}

// Where each trial is disturbed the way in force stays, and is looked at again soon, and at the third time what there
// is counts.
static void a_race_in_doubt_changes_nothing(void **state)
{
    (void)state;
    static struct adapt_world world;
    for (int doubted = 1; doubted <= CO_ADAPT_DOUBTS + 1; doubted++) {
        adapt_world_open_simple(&world, 1000000, 5000000, CO_ADAPT_CASTOFF);
        world.away = 1000;
        for (int race = 1; race <= doubted; race++) {
            assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_CASTOFF);
            world.now_ns += UINT64_C(1000000000000); // it may be paid for
            do {
                adapt_world_call(&world, 0);
            } while (adapt_world_class(&world, 0)->phase != CO_ADAPT_STANDS ||
                     adapt_world_class(&world, 0)->decided_at + 1 != adapt_world_class(&world, 0)->calls);
        }
        bool is_over = doubted > CO_ADAPT_DOUBTS;
        assert_int_equal(adapt_world_way(&world, 0), is_over ? CO_ADAPT_NATIVE : CO_ADAPT_CASTOFF);
        assert_true(adapt_world_class(&world, 0)->watch_every ==
                    (is_over ? CO_ADAPT_WATCH_FIRST : (uint64_t)CO_ADAPT_DOUBT_CALLS));
        world.away = 0;
        adapt_world_run(&world, CO_ADAPT_DOUBT_CALLS + 20);
        assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_loses_its_processor_is_not_charged),
        cmocka_unit_test(a_race_in_doubt_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
