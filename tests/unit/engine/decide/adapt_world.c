// SPDX-License-Identifier: BSD-3-Clause
//
// The job of adapt_world.h. Requirements are cmocka's assertions: one thread.
#include "adapt_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mix_bits.h"

uint64_t adapt_world_draw(struct adapt_world *world, uint64_t below)
{
    world->random += UINT64_C(0x9E3779B97F4A7C15);
    return co_mix_bits(world->random) % below;
}

static uint64_t noisy(struct adapt_world *world, uint64_t ns)
{
    double share = world->noise * (double)adapt_world_draw(world, 1000) / 1000;
    uint64_t scale = adapt_world_draw(world, 1000) < world->spikes ? 10 : 1;
    return (uint64_t)((double)ns * (1 + share)) * scale + 1;
}

static bool is_away(struct adapt_world *world)
{
    return world->away > 0 && adapt_world_draw(world, 1000) < world->away;
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
static struct co_adapt_step exchange(struct adapt_world *world, int at)
{
    struct co_adapt_word words[MEMBERS_MOST];
    struct co_adapt_step steps[MEMBERS_MOST];
    struct co_adapt_call call = {.number = world->calls,
                                 .key = world->key[at],
                                 .can_change = true,
                                 .prior = world->prior[at],
                                 .is_split = world->is_split,
                                 .slow_ns = world->slow_ns};
    uint64_t came[MEMBERS_MOST], last = 0;
    bool were_away[MEMBERS_MOST];
    for (int i = 0; i < world->members; i++) {
        came[i] = world->now_ns + adapt_world_draw(world, 100) +
                  (adapt_world_draw(world, 1000) < world->late ? adapt_world_draw(world, 50000000) : 0);
        last = came[i] > last ? came[i] : last;
        uint64_t left = co_adapt_left(came[i], world->spent_ns, world->earned_ns);
        co_adapt_say(&world->adapt[i], &call, came[i], left, &words[i]);
    }
    world->now_ns = last + noisy(world, world->cost_ns);
    for (int i = 0; i < world->members; i++) {
        were_away[i] = is_away(world);
        world->now_ns += were_away[i] ? AWAY_NS : 0;
    }
    for (int i = 0; i < world->members; i++) {
        co_adapt_note_exchange(&world->adapt[i], came[i], world->now_ns + adapt_world_draw(world, 50), were_away[i]);
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

static struct co_adapt_step decide(struct adapt_world *world, int at)
{
    struct co_adapt_step step = {.way = co_adapt_count(&world->adapt[0], world->key[at])};
    for (int i = 1; i < world->members; i++) {
        assert_int_equal(co_adapt_count(&world->adapt[i], world->key[at]), step.way);
    }
    return step;
}

static void judge(struct adapt_world *world, int at, enum co_adapt_way way, bool is_trial)
{
    const uint64_t *ns = world->true_ns[at];
    if (++world->called[at] > 100) {
        world->later_best_ns += least(ns[0], ns[1]);
        world->later_taken_ns += ns[way];
    }
    world->trials += is_trial;
    world->trial_loss_ns += is_trial ? beyond(ns[way], ns[world->prior[at]]) : 0;
}

void adapt_world_call(struct adapt_world *world, int at)
{
    uint64_t longest = 0;
    world->calls++;
    world->now_ns += adapt_world_draw(world, world->think_ns + 1);
    struct co_adapt_step step = world->calls >= world->next ? exchange(world, at) : decide(world, at);
    enum co_adapt_way way = step.way == CO_ADAPT_PRIOR ? world->prior[at] : step.way;
    uint64_t scale = way != world->prior[at] && world->cold > 0 ? 20 : 1;
    world->cold -= scale > 1;
    for (int i = 0; i < world->members; i++) {
        uint64_t ns = scale * noisy(world, world->true_ns[at][way]);
        ns = i == 0 && adapt_world_draw(world, 2) == 0 ? ns / 4 + 1 : ns; // a root that returns early
        bool was_away = is_away(world);
        ns += was_away ? AWAY_NS : 0;
        longest = ns > longest ? ns : longest;
        if (step.is_trial || world->slow_ns > 0) {
            co_adapt_note_call(&world->adapt[i], ns, was_away);
        }
    }
    world->now_ns += longest;
    judge(world, at, way, step.is_trial);
}

void adapt_world_open_members(struct adapt_world *world)
{
    world->next = 5;
    world->calls = 4;
    for (int i = 0; i < world->members; i++) {
        co_adapt_open(&world->adapt[i], world->key[0], 4);
    }
}

// Classes at random, or one after the other.
void adapt_world_run(struct adapt_world *world, int calls)
{
    bool goes_round = adapt_world_draw(world, 2) == 0;
    for (int i = 0; i < calls; i++) {
        adapt_world_call(world,
                         goes_round ? i % world->classes : (int)adapt_world_draw(world, (uint64_t)world->classes));
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

enum co_adapt_way adapt_world_way(const struct adapt_world *world, int at)
{
    enum co_adapt_way way = co_adapt_way_of(&world->adapt[0], world->key[at]);
    return way == CO_ADAPT_PRIOR ? world->prior[at] : way;
}

void adapt_world_open_simple(struct adapt_world *world, uint64_t native_ns, uint64_t castoff_ns,
                             enum co_adapt_way prior)
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
    adapt_world_open_members(world);
}

const struct co_adapt_class *adapt_world_class(const struct adapt_world *world, int at)
{
    return &world->adapt[0].classes[world->adapt[0].slot[world->key[at]] - 1];
}
