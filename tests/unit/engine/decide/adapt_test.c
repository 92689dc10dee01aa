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

#include "base/mix_bits.h"
#include "engine/decide/adapt.h"

enum { MEMBERS_MOST = 8, CLASSES_MOST = 12, CALLS = 2500, WAYS = CO_ADAPT_WAYS };

static unsigned first_seed = 1, seeds = 10000;

struct world {
    uint64_t random;
    int members, classes;
    uint64_t true_ns[CLASSES_MOST][WAYS];
    unsigned key[CLASSES_MOST];
    enum co_adapt_way prior[CLASSES_MOST];
    double noise;      // of a time, at most
    unsigned cold;     // calls of the way that is not the prior which yet take twenty times as long
    unsigned spikes;   // of a thousand times: those that are ten times as long
    unsigned late;     // of a thousand calls: those to which a member comes late
    uint64_t cost_ns;  // of an exchange
    uint64_t think_ns; // that the program computes between calls, at most
    struct co_adapt adapt[MEMBERS_MOST];
    uint64_t now_ns, spent_ns, earned_ns, next, calls;
    // What it came to.
    uint64_t exchanges, trials, called[CLASSES_MOST], trial_loss_ns;
    uint64_t later_best_ns, later_taken_ns; // of the calls of a class after its hundredth, exchanges included
};

static uint64_t draw(struct world *world, uint64_t below)
{
    world->random += UINT64_C(0x9E3779B97F4A7C15);
    return co_mix_bits(world->random) % below;
}

static uint64_t noisy(struct world *world, uint64_t ns)
{
    double share = world->noise * (double)draw(world, 1000) / 1000;
    uint64_t scale = draw(world, 1000) < world->spikes ? 10 : 1;
    return (uint64_t)((double)ns * (1 + share)) * scale + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t beyond(uint64_t ns, uint64_t known)
{
    return ns > known ? ns - known : 0;
}

// All members come to the call at hand, of class `at`.
static struct co_adapt_step exchange(struct world *world, int at)
{
    struct co_adapt_word words[MEMBERS_MOST];
    struct co_adapt_step steps[MEMBERS_MOST];
    struct co_adapt_call call = {
        .number = world->calls, .key = world->key[at], .can_change = true, .prior = world->prior[at]};
    uint64_t came[MEMBERS_MOST], last = 0;
    for (int i = 0; i < world->members; i++) {
        came[i] = world->now_ns + draw(world, 100) + (draw(world, 1000) < world->late ? draw(world, 50000000) : 0);
        last = came[i] > last ? came[i] : last;
        uint64_t left = co_adapt_left(came[i], world->spent_ns, world->earned_ns);
        co_adapt_say(&world->adapt[i], &call, came[i], left, &words[i]);
    }
    world->now_ns = last + noisy(world, world->cost_ns);
    for (int i = 0; i < world->members; i++) {
        co_adapt_note_exchange(&world->adapt[i], came[i], world->now_ns + draw(world, 50));
        steps[i] = co_adapt_hear(&world->adapt[i], &call, words, world->members);
        assert_memory_equal(&steps[i], &steps[0], sizeof steps[0]);
    }
    world->spent_ns += steps[0].spent_ns;
    world->earned_ns += steps[0].earned_ns;
    world->next = steps[0].next;
    world->exchanges++;
    world->later_taken_ns += world->called[at] >= 100 ? world->cost_ns : 0;
    return steps[0];
}

static struct co_adapt_step decide(struct world *world, int at)
{
    struct co_adapt_step step = {.way = co_adapt_count(&world->adapt[0], world->key[at])};
    for (int i = 1; i < world->members; i++) {
        assert_int_equal(co_adapt_count(&world->adapt[i], world->key[at]), step.way);
    }
    return step;
}

static void judge(struct world *world, int at, enum co_adapt_way way, bool is_trial)
{
    const uint64_t *ns = world->true_ns[at];
    if (++world->called[at] > 100) {
        world->later_best_ns += least(ns[0], ns[1]);
        world->later_taken_ns += ns[way];
    }
    world->trials += is_trial;
    world->trial_loss_ns += is_trial ? beyond(ns[way], ns[world->prior[at]]) : 0;
}

static void call(struct world *world, int at)
{
    uint64_t longest = 0;
    world->calls++;
    world->now_ns += draw(world, world->think_ns + 1);
    struct co_adapt_step step = world->calls >= world->next ? exchange(world, at) : decide(world, at);
    enum co_adapt_way way = step.way == CO_ADAPT_PRIOR ? world->prior[at] : step.way;
    uint64_t scale = way != world->prior[at] && world->cold > 0 ? 20 : 1;
    world->cold -= scale > 1;
    for (int i = 0; i < world->members; i++) {
        uint64_t ns = scale * noisy(world, world->true_ns[at][way]);
        ns = i == 0 && draw(world, 2) == 0 ? ns / 4 + 1 : ns; // a root that returns early
        longest = ns > longest ? ns : longest;
        if (step.is_trial) {
            co_adapt_note_trial(&world->adapt[i], ns);
        }
    }
    world->now_ns += longest;
    judge(world, at, way, step.is_trial);
}

static void open_members(struct world *world)
{
    world->next = 5;
    world->calls = 4;
    for (int i = 0; i < world->members; i++) {
        co_adapt_open(&world->adapt[i], world->key[0], 4);
    }
}

static void open_world(struct world *world, unsigned seed)
{
    memset(world, 0, sizeof *world);
    world->random = co_mix_bits(seed);
    world->members = 2 + (int)draw(world, MEMBERS_MOST - 1);
    world->classes = 1 + (int)draw(world, CLASSES_MOST);
    world->noise = (double)draw(world, 30) / 100;
    world->spikes = (unsigned)draw(world, 5);
    world->late = (unsigned)draw(world, 100);
    uint64_t scale = UINT64_C(1) << draw(world, 12);
    world->cost_ns = 300 + draw(world, 100 * scale);
    world->think_ns = draw(world, 2) == 0 ? 0 : draw(world, 1000 * scale);
    for (int k = 0; k < world->classes; k++) {
        uint64_t ns = world->cost_ns + draw(world, 1000 * scale);
        world->key[k] = co_adapt_key(draw(world, 2) == 0, (size_t)8 << k);
        world->true_ns[k][0] = ns;
        world->true_ns[k][1] = ns * (25 + draw(world, 375)) / 100; // a quarter to four times as long
        world->prior[k] = (enum co_adapt_way)draw(world, WAYS);
    }
    open_members(world);
}

// Classes at random, or one after the other.
static void run(struct world *world, int calls)
{
    bool goes_round = draw(world, 2) == 0;
    for (int i = 0; i < calls; i++) {
        call(world, goes_round ? i % world->classes : (int)draw(world, (uint64_t)world->classes));
        // What trials have lost against the prior: the budget, and what the races that had begun when it was used up
        // took to their ends. Times are measured, and may be shorter than they should be by noise.
        double bound = 1.4 * ((double)world->now_ns + 1e9) / 100 + (double)world->earned_ns;
        for (int k = 0; k < world->classes; k++) {
            const uint64_t *ns = world->true_ns[k];
            bound += 4 * (double)beyond(ns[1 - world->prior[k]], ns[world->prior[k]]);
        }
        assert_true((double)world->trial_loss_ns <= bound);
    }
}

static enum co_adapt_way way_of(const struct world *world, int at)
{
    enum co_adapt_way way = co_adapt_way_of(&world->adapt[0], world->key[at]);
    return way == CO_ADAPT_PRIOR ? world->prior[at] : way;
}

static bool is_clear(const uint64_t *ns)
{
    return 4 * ns[0] > 5 * ns[1] || 4 * ns[1] > 5 * ns[0];
}

static void members_agree_and_lose_little(void **state)
{
    (void)state;
    static struct world world;
    double best = 0, taken = 0;
    unsigned classes = 0, wrong = 0;
    for (unsigned seed = first_seed; seed < first_seed + seeds; seed++) {
        open_world(&world, seed);
        run(&world, CALLS);
        // Each job counts alike, however long its calls are.
        best += 1;
        taken += world.later_best_ns == 0 ? 1 : (double)world.later_taken_ns / (double)world.later_best_ns;
        for (int k = 0; k < world.classes; k++) {
            const uint64_t *ns = world.true_ns[k];
            classes += is_clear(ns);
            wrong += is_clear(ns) && ns[way_of(&world, k)] > ns[1 - way_of(&world, k)];
        }
    }
    print_message(
        "%u seeds: after 100 calls of a class %.2f %% lost; of %u classes with a clear winner %u go the other way\n",
        seeds, 100 * (taken / best - 1), classes, wrong);
    assert_true(taken <= 1.02 * best);
    assert_true(1000 * wrong <= 3 * classes);
}

static void open_simple(struct world *world, uint64_t native_ns, uint64_t castoff_ns, enum co_adapt_way prior)
{
    memset(world, 0, sizeof *world);
    world->members = 4;
    world->classes = 1;
    world->cost_ns = 300;
    world->noise = 0.02;
    world->key[0] = co_adapt_key(0, 65536);
    world->prior[0] = prior;
    world->true_ns[0][CO_ADAPT_NATIVE] = native_ns;
    world->true_ns[0][CO_ADAPT_CASTOFF] = castoff_ns;
    open_members(world);
}

static const struct co_adapt_class *class_of(const struct world *world, int at)
{
    return &world->adapt[0].classes[world->adapt[0].slot[world->key[at]] - 1];
}

static void a_verdict_needs_thirteen_calls_of_a_class(void **state)
{
    (void)state;
    static struct world world;
    for (unsigned prior = 0; prior < WAYS; prior++) {
        open_simple(&world, 10000, 17000, prior);
        while (class_of(&world, 0)->phase != CO_ADAPT_STANDS) {
            assert_true(world.calls < 13);
            call(&world, 0);
        }
        assert_int_equal(world.calls, 13);
        assert_int_equal(way_of(&world, 0), CO_ADAPT_NATIVE);
        assert_int_equal(world.trials, 8);
        open_simple(&world, 10000, 90000,
                    prior); // a way that has been used and is so much slower has lost after half of it
        run(&world, 5);
        assert_true((class_of(&world, 0)->phase == CO_ADAPT_STANDS) == (prior == CO_ADAPT_CASTOFF));
        run(&world, 4);
        assert_int_equal(way_of(&world, 0), CO_ADAPT_NATIVE);
        open_simple(&world, 10000, 17000, prior); // a way that is slow at first has not
        world.cold = 2;
        run(&world, 9);
        assert_int_equal(class_of(&world, 0)->phase, CO_ADAPT_STANDS);
        assert_int_equal(way_of(&world, 0), CO_ADAPT_NATIVE);
    }
}

static void a_tie_goes_to_the_prior(void **state)
{
    (void)state;
    static struct world world;
    for (unsigned prior = 0; prior < WAYS; prior++) {
        open_simple(&world, 10000, 10000, prior);
        world.noise = 0;
        run(&world, 100);
        assert_int_equal(class_of(&world, 0)->phase, CO_ADAPT_STANDS);
        assert_int_equal(way_of(&world, 0), prior);
        assert_int_equal(co_adapt_gained_ns(class_of(&world, 0)), 0);
    }
}

// Looked at again after 1,024 calls, and then ever more rarely.
static void a_program_that_changes_is_followed(void **state)
{
    (void)state;
    static struct world world;
    open_simple(&world, 10000, 20000, CO_ADAPT_CASTOFF);
    run(&world, 100);
    assert_int_equal(way_of(&world, 0), CO_ADAPT_NATIVE);
    assert_true(co_adapt_gained_ns(class_of(&world, 0)) > 0);
    uint64_t trials = world.trials;
    run(&world, 10000); // after 1, 3 and 7 times 1,024 calls
    assert_int_equal(world.trials, trials + 3 * 4);
    assert_int_equal(way_of(&world, 0), CO_ADAPT_NATIVE);
    world.true_ns[0][CO_ADAPT_NATIVE] = 30000;
    run(&world, 8200);
    assert_int_equal(way_of(&world, 0), CO_ADAPT_CASTOFF);
    world.true_ns[0][CO_ADAPT_NATIVE] = 10000;
    run(&world, 1100);
    assert_int_equal(way_of(&world, 0), CO_ADAPT_NATIVE);
    assert_int_equal(class_of(&world, 0)->changes, 3);
}

// One trial of a way that takes a second is more than may be spent; that it is the better one is found out all the
// same.
static void what_is_dear_waits_for_time(void **state)
{
    (void)state;
    static struct world world;
    open_simple(&world, 1000, 1000000000, CO_ADAPT_NATIVE);
    world.classes = 2;
    world.key[1] = co_adapt_key(0, 1024);
    world.true_ns[1][CO_ADAPT_NATIVE] = 1000;
    world.true_ns[1][CO_ADAPT_CASTOFF] = 1500;
    for (int i = 0; i < 20; i++) {
        call(&world, 0);
    }
    assert_int_equal(class_of(&world, 0)->phase, CO_ADAPT_STANDS);
    assert_int_equal(way_of(&world, 0), CO_ADAPT_NATIVE);
    uint64_t trials = world.trials;
    do {
        call(&world, 1);
        assert_true(world.trials <= trials + 1); // of the prior
    } while (class_of(&world, 1)->calls < CO_ADAPT_ENTITLED);
    for (int i = 0; i < 100; i++) { // enough calls to see it whatever others have spent
        call(&world, 1);
    }
    assert_int_equal(class_of(&world, 1)->phase, CO_ADAPT_STANDS);
    world.key[1] = co_adapt_key(0, 2048);
    world.now_ns += UINT64_C(400000000000); // or enough time
    for (int i = 0; i < 100; i++) {
        call(&world, 1);
    }
    assert_int_equal(class_of(&world, 1)->phase, CO_ADAPT_STANDS);
    open_simple(&world, 1000000000, 1000, CO_ADAPT_NATIVE);
    run(&world, 10);
    assert_int_equal(way_of(&world, 0), CO_ADAPT_CASTOFF);
}

static void all_end(struct world *world, const struct co_adapt_call *odd, bool is_absent)
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
    static struct world world;
    open_simple(&world, 10000, 17000, CO_ADAPT_NATIVE);
    run(&world, 7);
    struct co_adapt_call odd = {.number = world.calls + 1, .key = world.key[0] + 1, .can_change = true};
    all_end(&world, &odd, false); // another length
    open_simple(&world, 10000, 17000, CO_ADAPT_CASTOFF);
    run(&world, 100);
    odd = (struct co_adapt_call){.number = world.calls + 2, .key = world.key[0], .can_change = true};
    all_end(&world, &odd, false); // another number
    open_simple(&world, 10000, 17000, CO_ADAPT_CASTOFF);
    run(&world, 100);
    co_adapt_count(&world.adapt[2], world.key[0] + 1); // another call, some time ago
    all_end(&world, NULL, false);
    open_simple(&world, 10000, 17000, CO_ADAPT_NATIVE);
    all_end(&world, NULL, true); // no memory
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_agree_and_lose_little), cmocka_unit_test(a_verdict_needs_thirteen_calls_of_a_class),
        cmocka_unit_test(a_tie_goes_to_the_prior),       cmocka_unit_test(a_program_that_changes_is_followed),
        cmocka_unit_test(what_is_dear_waits_for_time),   cmocka_unit_test(members_that_differ_end_it_for_all),
    };
    seeds = argc > 1 ? (unsigned)atoi(argv[1]) : seeds;
    first_seed = argc > 2 ? (unsigned)atoi(argv[2]) : first_seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
