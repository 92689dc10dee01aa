// SPDX-License-Identifier: BSD-3-Clause
//
// The trials of a team: what is said and heard at exchanges, and when the next exchange is. All state that decides
// changes in co_adapt_hear and co_adapt_count alone, whose arguments are equal on all members; what is this member's
// own are three times and a flag, which nobody but co_adapt_say reads. Warm: exchanges only.
#include "engine/decide/adapt.h"

#include <string.h>

#include "base/mix_bits.h"
#include "engine/decide/adapt_race.h"

#define EARNS 4                       // a part of what verdicts gain may be spent on finding more of them
#define SLOW_CALLS 2                  // of a slow class, whose time the budget must hold before its trials
#define SPAN_MOST (UINT64_C(1) << 50) // no time is longer: sums stay in range whatever is heard

void co_adapt_open(struct co_adapt *adapt, unsigned key, unsigned credit)
{
    memset(adapt, 0, sizeof(*adapt));
    co_adapt_find(adapt, key)->calls = credit;
}

struct co_adapt_class *co_adapt_meet(struct co_adapt *adapt, unsigned key)
{
    unsigned place = adapt->used < CO_ADAPT_CLASSES ? adapt->used++ : CO_ADAPT_CLASSES;
    adapt->slot[key] = (uint8_t)(place + 1);
    adapt->classes[place].key = (uint16_t)key;
    return &adapt->classes[place];
}

enum co_adapt_way co_adapt_way_of(const struct co_adapt *adapt, unsigned key)
{
    unsigned slot = adapt->slot[key];
    return slot == 0 || adapt->has_ended ? CO_ADAPT_PRIOR : co_adapt_way_in_force(&adapt->classes[slot - 1]);
}

static uint64_t digest_of(const struct co_adapt *adapt, const struct co_adapt_call *call)
{
    uint64_t digest = co_mix_bits(call->number);
    digest = co_mix_bits(digest ^ ((uint64_t)call->key << 8 | (uint64_t)call->can_change << 4 | (uint64_t)call->prior));
    for (unsigned i = 0; i < adapt->used; i++) {
        const struct co_adapt_class *of = &adapt->classes[i];
        digest = co_mix_bits(digest ^ of->calls);
        digest = co_mix_bits(digest ^ ((uint64_t)of->key << 16 | (uint64_t)of->phase << 8 | of->way));
    }
    digest = co_mix_bits(digest ^ adapt->classes[CO_ADAPT_CLASSES].calls);
    return digest | 1; // never 0
}

static uint64_t usual_of(const struct co_adapt *adapt, unsigned key)
{
    unsigned slot = adapt->slot[key];
    return slot == 0 ? 0 : adapt->classes[slot - 1].usual_ns;
}

void co_adapt_say(const struct co_adapt *adapt, const struct co_adapt_call *call, uint64_t now_ns, uint64_t left_ns,
                  struct co_adapt_word *word)
{
    *word = (struct co_adapt_word){.digest = digest_of(adapt, call),
                                   .trial_ns = adapt->trial != NULL ? adapt->trial_ns : usual_of(adapt, call->key),
                                   .exchange_ns = adapt->exchange_ns,
                                   .since_ns = adapt->exchange_end_ns == 0 ? 0 : now_ns - adapt->exchange_end_ns,
                                   .left_ns = left_ns,
                                   .is_disturbed = adapt->was_disturbed};
}

static uint64_t bounded(uint64_t ns)
{
    return ns < SPAN_MOST ? ns : SPAN_MOST;
}

void co_adapt_combine(struct co_adapt_word *all, const struct co_adapt_word *words, int members)
{
    *all = words[0];
    all->trial_ns = bounded(all->trial_ns);
    for (int i = 1; i < members; i++) {
        const struct co_adapt_word *its = &words[i];
        if (its->digest != all->digest) {
            *all = (struct co_adapt_word){0};
            return;
        }
        // Who comes last to an exchange waits for nobody in it.
        all->exchange_ns = its->exchange_ns < all->exchange_ns ? its->exchange_ns : all->exchange_ns;
        all->since_ns = its->since_ns < all->since_ns ? its->since_ns : all->since_ns;
        all->left_ns = its->left_ns < all->left_ns ? its->left_ns : all->left_ns;
        all->trial_ns = bounded(its->trial_ns) > all->trial_ns ? bounded(its->trial_ns) : all->trial_ns;
        all->is_disturbed |= its->is_disturbed;
    }
    all->exchange_ns = bounded(all->exchange_ns);
    all->since_ns = bounded(all->since_ns);
}

static void count_turned(struct co_adapt *adapt)
{
    memset(adapt->turned, 0, sizeof adapt->turned);
    for (unsigned i = 0; i < adapt->used; i++) {
        const struct co_adapt_class *of = &adapt->classes[i];
        bool is_turned = of->phase >= CO_ADAPT_STANDS && (of->way != of->prior || of->is_split);
        adapt->turned[co_adapt_key_call(of->key)] += is_turned;
    }
}

// What the trial before has taken.
static void take_trial(struct co_adapt *adapt, const struct co_adapt_word *all, struct co_adapt_step *step)
{
    struct co_adapt_class *of = adapt->trial;
    uint64_t ns = all->trial_ns;
    if (of == NULL) {
        return;
    }
    adapt->trial = NULL;
    if (ns == 0) {
        return; // the call failed everywhere: it is tried again
    }
    co_adapt_race_take(of, adapt->trial_way, ns, all->is_disturbed != 0, all->left_ns, step);
}

static bool is_due(const struct co_adapt_class *of)
{
    return !of->is_fixed && ((of->phase == CO_ADAPT_COUNTED && of->calls >= CO_ADAPT_WARM) ||
                             (of->phase == CO_ADAPT_STANDS && of->calls >= of->watch_at));
}

// It will be with its next calls.
static bool is_new(const struct co_adapt_class *of)
{
    return !of->is_fixed && of->phase == CO_ADAPT_COUNTED && of->is_live;
}

static bool is_racing(const struct co_adapt_class *of)
{
    return of->phase == CO_ADAPT_RACED || of->phase == CO_ADAPT_WATCHED;
}

// Who has made many calls may find out whatever others have spent: it is little beside what these took. The trials of a
// slow class take long, and seldom change anything: what four lose where the other way takes half as long again must be
// there before.
static bool can_pay(const struct co_adapt_class *of, uint64_t left_ns)
{
    return of->slow_ns > 0 ? left_ns / SLOW_CALLS >= of->slow_ns : left_ns > 0 || of->calls >= CO_ADAPT_ENTITLED;
}

// Once the other way has been tried, the race goes to its end, so that what was spent has brought a verdict.
static bool may_try(const struct co_adapt_class *of, uint64_t left_ns)
{
    return is_racing(of) && !of->is_fixed && (of->race.trials != 1 || can_pay(of, left_ns));
}

// A path that is the limit is so for either way. `usual_ns`: as all have said, the longest.
static void judge_path(struct co_adapt_class *of, const struct co_adapt_call *call, bool is_said, uint64_t usual_ns)
{
    if (call->slow_ns > 0 && (is_said || !of->has_path)) {
        bool is_known = is_said && usual_ns > 0;
        of->slow_ns = !is_known ? UINT64_MAX : usual_ns > call->slow_ns ? usual_ns : 0;
        of->has_path = true;
    }
}

// Counts the call at hand, and takes its class into a race if that is due.
static struct co_adapt_class *take_call(struct co_adapt *adapt, const struct co_adapt_call *call, bool is_said,
                                        const struct co_adapt_word *all)
{
    struct co_adapt_class *of = co_adapt_find(adapt, call->key);
    judge_path(of, call, is_said, all->trial_ns);
    of->is_fixed = of->is_fixed || !call->can_change || of == &adapt->classes[CO_ADAPT_CLASSES];
    of->is_split = call->is_split;
    if (is_due(of) && (of->slow_ns == 0 || can_pay(of, all->left_ns))) {
        of->prior = of->phase == CO_ADAPT_COUNTED ? (uint8_t)call->prior : of->prior;
        of->phase = of->phase == CO_ADAPT_COUNTED ? CO_ADAPT_RACED : CO_ADAPT_WATCHED;
    }
    of->calls++;
    of->is_live = true;
    adapt->latest = of;
    return of;
}

static bool has_prospect(const struct co_adapt *adapt, bool live_only, uint64_t left_ns)
{
    for (unsigned i = 0; i < adapt->used; i++) {
        const struct co_adapt_class *of = &adapt->classes[i];
        if ((of->is_live || !live_only) &&
            (((is_due(of) || is_new(of)) && can_pay(of, left_ns)) || may_try(of, left_ns))) {
            return true;
        }
    }
    return false;
}

// Calls until the next checkpoint: as keeps the share of the time that they take, and ever more rarely, since in a
// broadcast they make members wait for each other that else would not.
static uint64_t apart(const struct co_adapt *adapt, const struct co_adapt_call *call, uint64_t since_ns)
{
    uint64_t each_ns = since_ns / (call->number - adapt->calls) + 1;
    uint64_t by_share = CO_ADAPT_SHARE * adapt->cost_ns / each_ns, by_age = call->number / CO_ADAPT_AGE;
    uint64_t far = by_share > by_age ? by_share : by_age;
    far = far > CO_ADAPT_APART ? far : CO_ADAPT_APART;
    return far < CO_ADAPT_APART_MOST ? far : CO_ADAPT_APART_MOST;
}

static uint64_t next_exchange(struct co_adapt *adapt, const struct co_adapt_call *call, const struct co_adapt_word *all)
{
    uint64_t calls = call->number - adapt->calls;
    bool in_spell = calls == 1;
    adapt->idle = adapt->trial == NULL && in_spell ? adapt->idle + 1 : 0;
    // Who goes round its classes, in runs of some of each, comes by all of them within so many calls.
    bool stays = in_spell && adapt->idle <= 8 * adapt->used;
    if (adapt->trial != NULL || (has_prospect(adapt, !stays, all->left_ns) && (stays || !in_spell))) {
        return call->number + 1;
    }
    return call->number + apart(adapt, call, all->since_ns);
}

// What the verdicts have gained over the prior since the last exchange.
static uint64_t take_count(struct co_adapt *adapt)
{
    uint64_t gained = 0;
    for (unsigned i = 0; i < adapt->used; i++) {
        struct co_adapt_class *of = &adapt->classes[i];
        if (of->phase >= CO_ADAPT_STANDS && of->ns[of->prior] > of->ns[of->way]) {
            gained = bounded(gained + (of->calls - of->counted) * (of->ns[of->prior] - of->ns[of->way]));
        }
        of->counted = of->calls;
        of->is_live = false;
    }
    return gained;
}

struct co_adapt_step co_adapt_hear(struct co_adapt *adapt, const struct co_adapt_call *call,
                                   const struct co_adapt_word *words, int members)
{
    struct co_adapt_step step = {.way = CO_ADAPT_PRIOR, .next = UINT64_MAX};
    struct co_adapt_word all;
    co_adapt_combine(&all, words, members);
    if (adapt->has_ended || all.digest == 0) {
        step.has_ended = adapt->has_ended = true;
        return step;
    }
    bool was_trial = adapt->trial != NULL;
    take_trial(adapt, &all, &step);
    adapt->trial_ns = 0;
    adapt->was_disturbed = false;
    if (all.exchange_ns != 0) {
        adapt->cost_ns = adapt->cost_ns == 0 ? all.exchange_ns : (3 * adapt->cost_ns + all.exchange_ns) / 4;
    }
    step.spent_ns += call->number == adapt->calls + 1 ? adapt->cost_ns : 0; // checkpoints have a bound of their own
    struct co_adapt_class *of = take_call(adapt, call, !was_trial, &all);
    step.way = co_adapt_way_in_force(of);
    if (may_try(of, all.left_ns)) {
        adapt->trial = of;
        step.way = adapt->trial_way = co_adapt_race_next(of);
        step.is_trial = true;
    }
    if (step.has_verdict) {
        count_turned(adapt);
    }
    step.next = next_exchange(adapt, call, &all);
    adapt->calls = call->number;
    step.earned_ns = take_count(adapt) / EARNS;
    return step;
}

void co_adapt_note_exchange(struct co_adapt *adapt, uint64_t began_ns, uint64_t ended_ns, bool is_disturbed)
{
    adapt->exchange_ns = is_disturbed ? 0 : ended_ns - began_ns + 1;
    adapt->exchange_end_ns = ended_ns;
}

void co_adapt_note_call(struct co_adapt *adapt, uint64_t ns, bool is_disturbed)
{
    struct co_adapt_class *of = adapt->latest;
    if (adapt->trial != NULL) {
        adapt->trial_ns = ns;
        adapt->was_disturbed = is_disturbed;
    } else if (of != NULL && (of->usual_ns == 0 || ns < of->usual_ns)) {
        of->usual_ns = ns;
    }
}
