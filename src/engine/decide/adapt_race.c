// SPDX-License-Identifier: BSD-3-Clause
//
// The race of a class: which way has the next trial, what a trial's time does, and the verdict at the end. Pure, and of
// nothing but what all members have alike. Called by adapt.c at exchanges; warm.
#include "engine/decide/adapt_race.h"

#include <string.h>

#define TIE(ns) ((ns) + (ns) / 32)    // 3 %: noise, and then the prior stays
#define BETTER(ns) ((ns) + (ns) / 20) // 5 %, in each of two pairs, to change a verdict
#define CLEAR 4                       // times as long in half of the trials: the way in force has lost
#define CLEAR_IF_DEAR 2               // likewise the other one

static enum co_adapt_way other_than(enum co_adapt_way way)
{
    return way == CO_ADAPT_NATIVE ? CO_ADAPT_CASTOFF : CO_ADAPT_NATIVE;
}

// The one that the class has outside of its race.
static enum co_adapt_way holder_of(const struct co_adapt_class *of)
{
    return (enum co_adapt_way)(of->phase == CO_ADAPT_WATCHED ? of->way : of->prior);
}

// A B B A A B B A, the holder first.
enum co_adapt_way co_adapt_race_next(const struct co_adapt_class *of)
{
    unsigned turn = of->race.trials % 4;
    enum co_adapt_way holder = holder_of(of);
    return turn == 0 || turn == 3 ? holder : other_than(holder);
}

static uint64_t least(const uint64_t *ns, unsigned count)
{
    uint64_t best = ns[0];
    for (unsigned i = 1; i < count; i++) {
        best = ns[i] < best ? ns[i] : best;
    }
    return best;
}

static uint64_t most(const uint64_t *ns, unsigned count)
{
    uint64_t worst = ns[0];
    for (unsigned i = 1; i < count; i++) {
        worst = ns[i] > worst ? ns[i] : worst;
    }
    return worst;
}

static uint64_t second_least(const uint64_t *ns, unsigned count)
{
    uint64_t first = UINT64_MAX, second = UINT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        if (ns[i] < first) {
            second = first;
            first = ns[i];
        } else if (ns[i] < second) {
            second = ns[i];
        }
    }
    return second;
}

static uint64_t sum(const uint64_t ns[CO_ADAPT_ROUNDS])
{
    uint64_t all = 0;
    for (unsigned i = 0; i < CO_ADAPT_ROUNDS; i++) {
        all += ns[i];
    }
    return all;
}

int64_t co_adapt_gained_ns(const struct co_adapt_class *of)
{
    int64_t calls = (int64_t)(of->calls - of->decided_at);
    int64_t each = (int64_t)(of->ns[of->prior] - of->ns[of->way]);
    return of->gained_ns + (of->phase >= CO_ADAPT_STANDS ? calls * each : 0);
}

// At least two times of the way are its own: its second shortest is no longer than them.
static bool is_known(const struct co_adapt_race *race, enum co_adapt_way way)
{
    return race->disturbed[way] + 2 <= race->trials / 2;
}

static bool takes_doubt(struct co_adapt_class *of, bool is_certain)
{
    of->doubts = (uint8_t)(is_certain || of->doubts == CO_ADAPT_DOUBTS ? 0 : of->doubts + 1);
    return of->doubts > 0;
}

static uint64_t next_watch(const struct co_adapt_class *of, bool is_first)
{
    uint64_t every = is_first ? CO_ADAPT_WATCH_FIRST : 2 * of->watch_every;
    every = every > CO_ADAPT_WATCH_FIRST ? every : CO_ADAPT_WATCH_FIRST;
    every = every < CO_ADAPT_WATCH_LAST ? every : CO_ADAPT_WATCH_LAST;
    return of->doubts > 0 ? CO_ADAPT_DOUBT_CALLS : every;
}

static void settle(struct co_adapt_class *of, enum co_adapt_way way, struct co_adapt_step *step)
{
    bool had_one = of->phase == CO_ADAPT_WATCHED;
    step->has_verdict = true;
    step->has_changed = way != holder_of(of);
    of->gained_ns = co_adapt_gained_ns(of);
    of->decided_at = of->calls;
    of->first_at = of->first_at == 0 ? of->calls + 1 : of->first_at;
    of->changes += step->has_changed;
    of->watch_every = next_watch(of, !had_one || step->has_changed);
    of->watch_at = of->calls + of->watch_every;
    of->way = (uint8_t)way;
    of->phase = CO_ADAPT_STANDS;
    memset(&of->race, 0, sizeof(of->race));
}

static void end_first_race(struct co_adapt_class *of, uint64_t left_ns, struct co_adapt_step *step)
{
    enum co_adapt_way prior = (enum co_adapt_way)of->prior, other = other_than(prior);
    unsigned rounds = of->race.trials / 2;
    const uint64_t *of_prior = of->race.ns[prior], *of_other = of->race.ns[other];
    bool prior_wins, is_over = rounds == CO_ADAPT_ROUNDS;
    uint64_t (*judge)(const uint64_t *, unsigned) = is_over ? second_least : least;
    if (is_over) {
        // Of many hosts one is always disturbed: a way that is short at best and long on average has not won there.
        prior_wins =
            judge(of_prior, rounds) <= TIE(judge(of_other, rounds)) || (of->has_path && sum(of_prior) <= sum(of_other));
    } else {
        // The other way may be slow at first, at each root that has not used it yet: it has lost only after all its
        // trials, unless there is nothing left to pay them with.
        prior_wins = left_ns == 0 && is_known(&of->race, other) &&
                     least(of_other, rounds) > CLEAR_IF_DEAR * most(of_prior, rounds);
        bool other_wins = is_known(&of->race, prior) && least(of_prior, rounds) > CLEAR * most(of_other, rounds);
        if (!prior_wins && !other_wins) {
            return;
        }
    }
    uint64_t prior_ns = judge(of_prior, rounds), other_ns = judge(of_other, rounds);
    bool is_split = of->has_path && prior_wins && BETTER(other_ns) < prior_ns;
    bool is_in_doubt = takes_doubt(of, !is_split && is_known(&of->race, prior_wins ? other : prior));
    settle(of, prior_wins || is_in_doubt ? prior : other, step);
    of->ns[prior] = prior_ns;
    of->ns[other] = other_ns;
}

// Two pairs: the runner-up must win both.
static void end_watch(struct co_adapt_class *of, struct co_adapt_step *step)
{
    enum co_adapt_way way = (enum co_adapt_way)of->way, other = other_than(way);
    const uint64_t *held = of->race.ns[way], *its = of->race.ns[other];
    bool wins = BETTER(its[0]) < held[0] && BETTER(its[1]) < held[1];
    uint64_t held_ns = least(held, 2), its_ns = least(its, 2);
    bool is_split = of->has_path && !wins && BETTER(its_ns) < held_ns;
    bool is_in_doubt = takes_doubt(of, !is_split && is_known(&of->race, wins ? way : other));
    settle(of, wins && !is_in_doubt ? other : way, step);
    of->ns[way] = held_ns;
    of->ns[other] = its_ns;
}

void co_adapt_race_take(struct co_adapt_class *of, enum co_adapt_way way, uint64_t ns, bool is_disturbed,
                        uint64_t left_ns, struct co_adapt_step *step)
{
    struct co_adapt_race *race = &of->race;
    if (is_disturbed && race->repeats < CO_ADAPT_REPEATS) {
        race->repeats++;
        return;
    }
    enum co_adapt_way holder = holder_of(of);
    unsigned turn = race->trials++ / 2;
    race->ns[way][turn] = ns;
    race->disturbed[way] += is_disturbed;
    if (way != holder && !is_disturbed) { // the holder's first trial came before
        uint64_t known = race->ns[holder][0];
        step->spent_ns += ns > known ? ns - known : 0;
        of->excess_ns += ns > known ? ns - known : 0;
    }
    if (race->trials % 4 != 0) {
        return;
    }
    if (of->phase == CO_ADAPT_WATCHED) {
        end_watch(of, step);
    } else {
        end_first_race(of, left_ns, step);
    }
}
