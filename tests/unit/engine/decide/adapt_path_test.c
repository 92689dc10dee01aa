// SPDX-License-Identifier: BSD-3-Clause
//
// Trials between hosts: where the path is the limit they wait for a budget that holds what they may lose, and nobody
// knows it before calls were timed; and a way that is short at best and long on average has not won.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adapt_world.h"
#include "engine/decide/adapt_race.h"

enum { MS = 1000000 };

static void where_the_path_is_the_limit_trials_wait_for_their_budget(void **state)
{
    (void)state;
    struct adapt_world world;
    adapt_world_open_simple(&world, 25 * MS, 20 * MS, CO_ADAPT_CASTOFF);
    world.slow_ns = 10 * MS;
    while (world.now_ns < (uint64_t)3500 * MS) { // what two calls take is more than one part in a hundred
        adapt_world_run(&world, 1);
    }
    assert_int_equal(world.trials, 0);
    assert_int_equal(adapt_world_class(&world, 0)->phase, CO_ADAPT_COUNTED);
    adapt_world_run(&world, 500);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_CASTOFF);
    assert_int_equal(world.trials, 2 * CO_ADAPT_ROUNDS);
    assert_true(100 * world.trial_loss_ns < world.now_ns);
    assert_in_range(world.exchanges, 2, 120);
}

static void a_wrong_prior_of_a_slow_class_comes_back(void **state)
{
    (void)state;
    struct adapt_world world;
    adapt_world_open_simple(&world, 5 * MS, 20 * MS, CO_ADAPT_CASTOFF);
    world.slow_ns = 10 * MS;
    adapt_world_run(&world, 400);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
}

static void one_that_takes_long_has_none_in_a_short_job(void **state)
{
    (void)state;
    struct adapt_world world;
    adapt_world_open_simple(&world, 5000 * (uint64_t)MS, 1000 * MS, CO_ADAPT_CASTOFF);
    world.slow_ns = 10 * MS;
    adapt_world_run(&world, 150); // many calls alone entitle no slow class
    assert_int_equal(world.trials, 0);
}

static void a_fast_one_has_them_once_its_calls_were_timed(void **state)
{
    (void)state;
    struct adapt_world world;
    adapt_world_open_simple(&world, MS, 2 * MS, CO_ADAPT_CASTOFF);
    world.slow_ns = 10 * MS;
    adapt_world_call(&world, 0); // the first exchange, where nothing was timed before
    adapt_world_run(&world, CO_ADAPT_APART - 1);
    assert_int_equal(world.trials, 0);
    adapt_world_run(&world, 100);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
}

static void each_class_is_judged_by_its_own_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct adapt_world world;
        adapt_world_open_simple(&world, MS, 2 * MS, CO_ADAPT_CASTOFF);
        world.random = seed;
        world.members = 2 + (int)(seed % 5);
        world.slow_ns = 10 * MS;
        world.classes = 3;
        for (int k = 1; k < world.classes; k++) {
            world.key[k] = co_adapt_key(1, (size_t)65536 << k);
            world.prior[k] = CO_ADAPT_CASTOFF;
            world.true_ns[k][CO_ADAPT_NATIVE] = (uint64_t)MS << k;
            world.true_ns[k][CO_ADAPT_CASTOFF] = k == 1 ? 40 * MS : 6 * MS;
        }
        adapt_world_open_members(&world);
        adapt_world_run(&world, 60);
        assert_int_equal(adapt_world_class(&world, 1)->phase, CO_ADAPT_COUNTED);
        adapt_world_run(&world, 3000);
        assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
        assert_int_equal(adapt_world_way(&world, 1), CO_ADAPT_NATIVE);
        assert_int_equal(adapt_world_way(&world, 2), CO_ADAPT_NATIVE);
    }
}

// The other way takes 5, of four times one is longer; the prior 10.
static enum co_adapt_way winner(bool has_path, uint64_t longest_ns)
{
    struct co_adapt_class of = {
        .phase = CO_ADAPT_RACED, .prior = CO_ADAPT_CASTOFF, .has_path = has_path, .calls = CO_ADAPT_WARM};
    struct co_adapt_step step = {0};
    for (unsigned trials = 0; !step.has_verdict; trials++) {
        enum co_adapt_way way = co_adapt_race_next(&of);
        uint64_t ns = way == CO_ADAPT_CASTOFF ? 10 * MS : trials == 5 ? longest_ns : 5 * MS;
        co_adapt_race_take(&of, way, ns, false, UINT64_MAX, &step);
    }
    return (enum co_adapt_way)of.way;
}

static void what_is_long_on_average_has_not_won(void **state)
{
    (void)state;
    assert_int_equal(winner(true, 5 * MS), CO_ADAPT_NATIVE);
    assert_int_equal(winner(true, 20 * MS), CO_ADAPT_NATIVE);
    assert_int_equal(winner(true, 60 * MS), CO_ADAPT_CASTOFF);
    assert_int_equal(winner(false, 60 * MS), CO_ADAPT_NATIVE); // on one node who was disturbed is known
}

static void short_at_best_and_long_on_average_is_a_doubt(void **state)
{
    (void)state;
    struct co_adapt_class of = {.phase = CO_ADAPT_RACED, .prior = CO_ADAPT_CASTOFF, .has_path = true};
    for (int race = 0; race < 1 + CO_ADAPT_DOUBTS; race++) {
        struct co_adapt_step step = {0};
        for (unsigned trials = 0; !step.has_verdict; trials++) {
            enum co_adapt_way way = co_adapt_race_next(&of);
            uint64_t ns = way == CO_ADAPT_CASTOFF ? 10 * MS : trials == 2 ? 60 * MS : 5 * MS;
            co_adapt_race_take(&of, way, ns, false, UINT64_MAX, &step);
        }
        assert_int_equal(of.way, CO_ADAPT_CASTOFF);
        bool is_last = race == CO_ADAPT_DOUBTS;
        assert_int_equal(of.watch_at - of.calls, is_last ? CO_ADAPT_WATCH_FIRST : CO_ADAPT_DOUBT_CALLS);
        of.phase = CO_ADAPT_WATCHED;
        of.calls = of.watch_at;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_the_path_is_the_limit_trials_wait_for_their_budget),
        cmocka_unit_test(a_wrong_prior_of_a_slow_class_comes_back),
        cmocka_unit_test(one_that_takes_long_has_none_in_a_short_job),
        cmocka_unit_test(a_fast_one_has_them_once_its_calls_were_timed),
        cmocka_unit_test(each_class_is_judged_by_its_own_calls),
        cmocka_unit_test(what_is_long_on_average_has_not_won),
        cmocka_unit_test(short_at_best_and_long_on_average_is_a_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
