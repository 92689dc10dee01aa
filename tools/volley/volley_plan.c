// SPDX-License-Identifier: BSD-3-Clause
//
// Slow is slower than a third of what a quarter of all pairs reach: of three hosts, one that is slow in both directions
// has a part in four of six pairs. Who waits for its processor while it sends is slow once, not five times. Cold.
#include "volley_plan.h"

#include <errno.h>
#include <stdlib.h>

enum { SPEED, LOSS, STAGES };
enum { FAST_COUNT = 160, SMALL_BYTES = 128 };
enum { SLOW_TIMES = 3, UNLIKE_TIMES = 2, FAST_PERCENT = 75 };
// Of a thousand.
enum { BAD_LOSS = 10, GOOD_LOSS = 3, FEWEST_SENT = 200 };
// Of what is counted: how fast at most, how fast where nothing is known, and how long full packets may take.
enum { HIGHEST_KBITS = 2000000000 }; // of any link
enum { MOST_KBITS = 200000, UNKNOWN_KBITS = 1000, LEAST_KBITS = 100, FULL_MS = 500 };

int co_volley_plan_make(struct co_volley_plan *plan, int count)
{
    *plan = (struct co_volley_plan){.count = count, .now.from = -1};
    plan->pairs = calloc((size_t)count * (size_t)count, sizeof *plan->pairs);
    return plan->pairs != NULL ? 0 : -ENOMEM;
}

void co_volley_plan_release(struct co_volley_plan *plan)
{
    free(plan->pairs);
    *plan = (struct co_volley_plan){.count = 0};
}

static struct co_volley_pair *pair_of(const struct co_volley_plan *plan, int from, int to)
{
    return &plan->pairs[(size_t)from * (size_t)plan->count + (size_t)to];
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static bool takes_part(const struct co_volley_plan *plan, int stage, int from, int to)
{
    const struct co_volley_pair *pair = pair_of(plan, from, to);
    return from != to && (stage == SPEED ? pair->kbits > 0 : pair->sent >= FEWEST_SENT);
}

enum co_volley_grade co_volley_speed(const struct co_volley_plan *plan, int from, int to)
{
    int64_t kbits = pair_of(plan, from, to)->kbits;
    if (!takes_part(plan, SPEED, from, to)) {
        return CO_VOLLEY_UNCLEAR;
    }
    return kbits * SLOW_TIMES < plan->fast_kbits      ? CO_VOLLEY_BAD
           : kbits * UNLIKE_TIMES >= plan->fast_kbits ? CO_VOLLEY_GOOD
                                                      : CO_VOLLEY_UNCLEAR;
}

enum co_volley_grade co_volley_loss(const struct co_volley_plan *plan, int from, int to)
{
    const struct co_volley_pair *pair = pair_of(plan, from, to);
    if (!takes_part(plan, LOSS, from, to)) {
        return CO_VOLLEY_UNCLEAR;
    }
    return pair->lost * 1000 >= BAD_LOSS * pair->sent    ? CO_VOLLEY_BAD
           : pair->lost * 1000 <= GOOD_LOSS * pair->sent ? CO_VOLLEY_GOOD
                                                         : CO_VOLLEY_UNCLEAR;
}

static enum co_volley_grade grade_of(const struct co_volley_plan *plan, int stage, int from, int to)
{
    return stage == SPEED ? co_volley_speed(plan, from, to) : co_volley_loss(plan, from, to);
}

enum which { ALL_PAIRS, GOOD_PAIRS };

// The value that so many of a hundred are below; 0: there are none.
static double find_share(const struct co_volley_plan *plan, int stage, int from, int to, enum which which, int percent)
{
    size_t pairs = (size_t)plan->count * (size_t)plan->count, count = 0;
    double *values = malloc((pairs + 1) * sizeof *values), found = 0;
    for (size_t i = 0; values != NULL && i < pairs; i++) {
        int sender = (int)(i / (size_t)plan->count), receiver = (int)(i % (size_t)plan->count);
        if ((from < 0 || from == sender) && (to < 0 || to == receiver) && takes_part(plan, stage, sender, receiver) &&
            (which == ALL_PAIRS || grade_of(plan, stage, sender, receiver) == CO_VOLLEY_GOOD)) {
            values[count++] = stage == SPEED ? (double)plan->pairs[i].kbits
                                             : (double)plan->pairs[i].lost / (double)plan->pairs[i].sent;
        }
    }
    if (count > 0) {
        qsort(values, count, sizeof *values, compare);
        found = values[count * (size_t)percent / 100];
    }
    free(values);
    return found;
}

int64_t co_volley_usual_kbits(const struct co_volley_plan *plan, int from, int to)
{
    return (int64_t)find_share(plan, SPEED, from, to, from < 0 && to < 0 ? GOOD_PAIRS : ALL_PAIRS, 50);
}

double co_volley_usual_loss(const struct co_volley_plan *plan, int from, int to)
{
    return find_share(plan, LOSS, from, to, from < 0 && to < 0 ? GOOD_PAIRS : ALL_PAIRS, 50);
}

// Of what this host sends.
static bool is_amiss(const struct co_volley_plan *plan, int stage, int from)
{
    for (int to = 0; to < plan->count; to++) {
        if (from != to && grade_of(plan, stage, from, to) != CO_VOLLEY_GOOD) {
            return true;
        }
    }
    return false;
}

// Half of what the slowest takes: it is to lose nothing in its queue.
static int64_t pace_of(const struct co_volley_plan *plan, int from)
{
    int64_t slowest = INT64_MAX;
    for (int to = 0; to < plan->count; to++) {
        int64_t kbits = pair_of(plan, from, to)->kbits;
        kbits = kbits > 0 ? kbits : UNKNOWN_KBITS;
        slowest = from != to && kbits < slowest ? kbits : slowest;
    }
    slowest /= 2;
    return slowest > MOST_KBITS ? MOST_KBITS : slowest < LEAST_KBITS ? LEAST_KBITS : slowest;
}

// The next that has a turn: all of them at first, and then who sends what looks amiss. False: none.
static bool find_sender(struct co_volley_plan *plan)
{
    int *from = &plan->now.from;
    do {
        ++*from;
    } while (*from < plan->count && plan->pass > 0 && !is_amiss(plan, plan->stage, *from));
    return *from < plan->count;
}

bool co_volley_plan_next(struct co_volley_plan *plan, size_t full_bytes)
{
    static const int passes[STAGES] = {[SPEED] = 5, [LOSS] = 3};
    struct co_volley *now = &plan->now;
    while (plan->stage < STAGES && !find_sender(plan)) {
        now->from = -1;
        if (plan->stage == SPEED) {
            plan->fast_kbits = (int64_t)find_share(plan, SPEED, -1, -1, ALL_PAIRS, FAST_PERCENT);
        }
        if (++plan->pass == passes[plan->stage]) {
            plan->pass = 0;
            plan->stage++;
        }
    }
    if (plan->stage == STAGES) {
        return false;
    }
    now->number++;
    now->count = plan->stage == SPEED ? FAST_COUNT : CO_VOLLEY_MOST;
    now->kbits = plan->stage == SPEED ? 0 : pace_of(plan, now->from);
    bool is_long = plan->stage == LOSS && (int64_t)full_bytes * 8 * now->count > now->kbits * FULL_MS;
    now->bytes = is_long ? SMALL_BYTES : full_bytes;
    return true;
}

// What a host has written may be any number.
static int within(int value, int most)
{
    return value < 0 ? 0 : value < most ? value : most;
}

void co_volley_plan_take(struct co_volley_plan *plan, int to, const struct co_volley_seen *seen)
{
    struct co_volley_pair *pair = pair_of(plan, plan->now.from, to);
    int sent = within(seen->sent, CO_VOLLEY_MOST);
    int lost = sent - within(seen->arrived, sent) - within(seen->overflowed, sent);
    if (plan->stage == SPEED) {
        int64_t kbits = seen->kbits < HIGHEST_KBITS ? seen->kbits : HIGHEST_KBITS;
        pair->kbits = kbits > pair->kbits ? kbits : pair->kbits;
    } else {
        pair->sent += sent;
        pair->lost += lost > 0 ? lost : 0;
    }
}
