// SPDX-License-Identifier: BSD-3-Clause
//
// Trials in virtual time: jobs of random members, classes, ways, noise, lateness and phases. All members must come to
// the same step at every call, what is lost against the better side must be small and bounded, and wrong priors must
// come back. `adapt_test [COUNT [FIRST]]`: other seeds than 1 to 10,000.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapt_world.h"
#include "base/mix_bits.h"

enum { CALLS = 2500 };

static unsigned first_seed = 1, seeds = 10000;

static void open_world(struct adapt_world *world, unsigned seed)
{
    memset(world, 0, sizeof *world);
    world->random = co_mix_bits(seed);
    world->members = 2 + (int)adapt_world_draw(world, MEMBERS_MOST - 1);
    world->classes = 1 + (int)adapt_world_draw(world, CLASSES_MOST);
    world->noise = (double)adapt_world_draw(world, 30) / 100;
    world->spikes = (unsigned)adapt_world_draw(world, 5);
    world->late = (unsigned)adapt_world_draw(world, 100);
    world->away = adapt_world_draw(world, 3) == 0 ? (unsigned)adapt_world_draw(world, 40) : 0;
    uint64_t scale = UINT64_C(1) << adapt_world_draw(world, 12);
    world->cost_ns = 300 + adapt_world_draw(world, 100 * scale);
    world->think_ns = adapt_world_draw(world, 2) == 0 ? 0 : adapt_world_draw(world, 1000 * scale);
    for (int k = 0; k < world->classes; k++) {
        uint64_t ns = world->cost_ns + adapt_world_draw(world, 1000 * scale);
        world->key[k] = co_adapt_key(adapt_world_draw(world, 2) == 0, (size_t)8 << k);
        world->true_ns[k][0] = ns;
        world->true_ns[k][1] = ns * (25 + adapt_world_draw(world, 375)) / 100; // a quarter to four times as long
        world->prior[k] = (enum co_adapt_way)adapt_world_draw(world, CO_ADAPT_WAYS);
    }
    adapt_world_open_members(world);
}

static bool is_clear(const uint64_t *ns)
{
    return 4 * ns[0] > 5 * ns[1] || 4 * ns[1] > 5 * ns[0];
}

static void members_agree_and_lose_little(void **state)
{
    (void)state;
    static struct adapt_world world;
    double best = 0, taken = 0;
    unsigned classes = 0, wrong = 0;
    for (unsigned seed = first_seed; seed < first_seed + seeds; seed++) {
        open_world(&world, seed);
        adapt_world_run(&world, CALLS);
        // Each job counts alike, however long its calls are.
        best += 1;
        taken += world.later_best_ns == 0 ? 1 : (double)world.later_taken_ns / (double)world.later_best_ns;
        for (int k = 0; k < world.classes; k++) {
            const uint64_t *ns = world.true_ns[k];
            classes += is_clear(ns);
            wrong += is_clear(ns) && ns[adapt_world_way(&world, k)] > ns[1 - adapt_world_way(&world, k)];
        }
    }
    print_message(
        "%u seeds: after 100 calls of a class %.2f %% lost; of %u classes with a clear winner %u go the other way\n",
        seeds, 100 * (taken / best - 1), classes, wrong);
    assert_true(taken <= 1.02 * best);
    assert_true(1000 * wrong <= 3 * classes);
}

static void a_verdict_needs_thirteen_calls_of_a_class(void **state)
{
    (void)state;
    static struct adapt_world world;
    for (unsigned prior = 0; prior < CO_ADAPT_WAYS; prior++) {
        adapt_world_open_simple(&world, 10000, 17000, prior);
        while (adapt_world_class(&world, 0)->phase != CO_ADAPT_STANDS) {
            assert_true(world.calls < 13);
            adapt_world_call(&world, 0);
        }
        assert_int_equal(world.calls, 13);
        assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
        assert_int_equal(world.trials, 8);
        adapt_world_open_simple(&world, 10000, 90000,
                                prior); // a way that has been used and is so much slower has lost after half of it
        adapt_world_run(&world, 5);
        assert_true((adapt_world_class(&world, 0)->phase == CO_ADAPT_STANDS) == (prior == CO_ADAPT_CASTOFF));
        adapt_world_run(&world, 4);
        assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
        adapt_world_open_simple(&world, 10000, 17000, prior); // a way that is slow at first has not
        world.cold = 2;
        adapt_world_run(&world, 9);
        assert_int_equal(adapt_world_class(&world, 0)->phase, CO_ADAPT_STANDS);
        assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
    }
}

// Where a class goes another way than without trials, unequal lengths would take members to two sides: all know where.
static void all_know_what_is_turned(void **state)
{
    (void)state;
    static struct adapt_world world;
    for (unsigned i = 0; i < 2 * CO_ADAPT_WAYS; i++) {
        adapt_world_open_simple(&world, 10000, 17000, (enum co_adapt_way)(i % CO_ADAPT_WAYS));
        world.is_split = i >= CO_ADAPT_WAYS;
        assert_int_equal(world.adapt[3].turned[0], 0);
        adapt_world_run(&world, 20);
        assert_int_equal(adapt_world_class(&world, 0)->phase, CO_ADAPT_STANDS);
        assert_int_equal(world.adapt[3].turned[0], world.prior[0] != CO_ADAPT_NATIVE || world.is_split);
        assert_int_equal(world.adapt[3].turned[1], 0);
    }
}

static void a_tie_goes_to_the_prior(void **state)
{
    (void)state;
    static struct adapt_world world;
    for (unsigned prior = 0; prior < CO_ADAPT_WAYS; prior++) {
        adapt_world_open_simple(&world, 10000, 10000, prior);
        world.noise = 0;
        adapt_world_run(&world, 100);
        assert_int_equal(adapt_world_class(&world, 0)->phase, CO_ADAPT_STANDS);
        assert_int_equal(adapt_world_way(&world, 0), prior);
        assert_int_equal(co_adapt_gained_ns(adapt_world_class(&world, 0)), 0);
    }
}

// Looked at again after 1,024 calls, and then ever more rarely.
static void a_program_that_changes_is_followed(void **state)
{
    (void)state;
    static struct adapt_world world;
    adapt_world_open_simple(&world, 10000, 20000, CO_ADAPT_CASTOFF);
    adapt_world_run(&world, 100);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
    assert_true(co_adapt_gained_ns(adapt_world_class(&world, 0)) > 0);
    uint64_t trials = world.trials;
    adapt_world_run(&world, 10000); // after 1, 3 and 7 times 1,024 calls
    assert_int_equal(world.trials, trials + 3 * 4);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
    world.true_ns[0][CO_ADAPT_NATIVE] = 30000;
    adapt_world_run(&world, 8200);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_CASTOFF);
    world.true_ns[0][CO_ADAPT_NATIVE] = 10000;
    adapt_world_run(&world, 1100);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
    assert_int_equal(adapt_world_class(&world, 0)->changes, 3);
}

// One trial of a way that takes a second is more than may be spent; that it is the better one is found out all the
// same.
static void what_is_dear_waits_for_time(void **state)
{
    (void)state;
    static struct adapt_world world;
    adapt_world_open_simple(&world, 1000, 1000000000, CO_ADAPT_NATIVE);
    world.classes = 2;
    world.key[1] = co_adapt_key(0, 1024);
    world.true_ns[1][CO_ADAPT_NATIVE] = 1000;
    world.true_ns[1][CO_ADAPT_CASTOFF] = 1500;
    for (int i = 0; i < 20; i++) {
        adapt_world_call(&world, 0);
    }
    assert_int_equal(adapt_world_class(&world, 0)->phase, CO_ADAPT_STANDS);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_NATIVE);
    uint64_t trials = world.trials;
    do {
        adapt_world_call(&world, 1);
        assert_true(world.trials <= trials + 1); // of the prior
    } while (adapt_world_class(&world, 1)->calls < CO_ADAPT_ENTITLED);
    for (int i = 0; i < 100; i++) { // enough calls to see it whatever others have spent
        adapt_world_call(&world, 1);
    }
    assert_int_equal(adapt_world_class(&world, 1)->phase, CO_ADAPT_STANDS);
    world.key[1] = co_adapt_key(0, 2048);
    world.now_ns += UINT64_C(400000000000); // or enough time
    for (int i = 0; i < 100; i++) {
        adapt_world_call(&world, 1);
    }
    assert_int_equal(adapt_world_class(&world, 1)->phase, CO_ADAPT_STANDS);
    adapt_world_open_simple(&world, 1000000000, 1000, CO_ADAPT_NATIVE);
    adapt_world_run(&world, 10);
    assert_int_equal(adapt_world_way(&world, 0), CO_ADAPT_CASTOFF);
}

static void all_end(struct adapt_world *world, const struct co_adapt_call *odd, bool is_absent)
{
    struct co_adapt_call call = {.number = world->calls + 1, .key = world->key[0], .can_change = true};
    struct co_adapt_word words[MEMBERS_MOST];
    for (int i = 0; i < world->members; i++) {
        co_adapt_say(&world->adapt[i], i == 2 && odd != NULL ? odd : &call, world->now_ns, 1000, &words[i]);
    }
    words[2] = is_absent ? (struct co_adapt_word){0} : words[2];
    for (int i = 0; i < world->members; i++) {
        struct co_adapt_step step = co_adapt_hear(&world->adapt[i], &call, words, world->members);
        assert_true(step.has_ended);
        assert_int_equal(step.way, CO_ADAPT_PRIOR);
        assert_true(step.next == UINT64_MAX);
        assert_int_equal(co_adapt_way_of(&world->adapt[i], world->key[0]), CO_ADAPT_PRIOR);
    }
}

static void members_that_differ_end_it_for_all(void **state)
{
    (void)state;
    static struct adapt_world world;
    adapt_world_open_simple(&world, 10000, 17000, CO_ADAPT_NATIVE);
    adapt_world_run(&world, 7);
    struct co_adapt_call odd = {.number = world.calls + 1, .key = world.key[0] + 1, .can_change = true};
    all_end(&world, &odd, false); // another length
    adapt_world_open_simple(&world, 10000, 17000, CO_ADAPT_CASTOFF);
    adapt_world_run(&world, 100);
    odd = (struct co_adapt_call){.number = world.calls + 2, .key = world.key[0], .can_change = true};
    all_end(&world, &odd, false); // another number
    adapt_world_open_simple(&world, 10000, 17000, CO_ADAPT_CASTOFF);
    adapt_world_run(&world, 100);
    co_adapt_count(&world.adapt[2], world.key[0] + 1); // another call, some time ago
    all_end(&world, NULL, false);
    adapt_world_open_simple(&world, 10000, 17000, CO_ADAPT_NATIVE);
    all_end(&world, NULL, true); // no memory
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_agree_and_lose_little), cmocka_unit_test(a_verdict_needs_thirteen_calls_of_a_class),
        cmocka_unit_test(a_tie_goes_to_the_prior),       cmocka_unit_test(a_program_that_changes_is_followed),
        cmocka_unit_test(what_is_dear_waits_for_time),   cmocka_unit_test(members_that_differ_end_it_for_all),
        cmocka_unit_test(all_know_what_is_turned),
    };
    seeds = argc > 1 ? (unsigned)atoi(argv[1]) : seeds;
    first_seed = argc > 2 ? (unsigned)atoi(argv[2]) : first_seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
