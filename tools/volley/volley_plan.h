// SPDX-License-Identifier: BSD-3-Clause
//
// Which volleys hosts send to each other, one after the other, and what is known of each pair of hosts by them. First
// as fast as they leave, for how fast they come; then more slowly than the slowest takes them, for what is lost on the
// way and not in a queue. What looks amiss is tried again. Pure but for memory. Cold.
#ifndef CASTOFF_TOOLS_VOLLEY_PLAN_H
#define CASTOFF_TOOLS_VOLLEY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "volley.h"

// Each host has its turn, several times: of more of them that takes minutes.
enum { CO_VOLLEY_HOSTS_MAX = 128 };

struct co_volley_pair {
    int64_t sent, lost; // where they came more slowly than they could
    int64_t kbits;      // at the best; 0: not known
};

struct co_volley_plan {
    int count;                    // hosts; 0: none were sent
    struct co_volley_pair *pairs; // from, to
    struct co_volley now;
    int stage, pass;
    int64_t fast_kbits; // of the faster pairs
};

// 0 or -ENOMEM.
int co_volley_plan_make(struct co_volley_plan *plan, int count);
void co_volley_plan_release(struct co_volley_plan *plan);

// The next one stands in `now`. False: there is none.
bool co_volley_plan_next(struct co_volley_plan *plan, size_t full_bytes);

// What host `to` has seen of `now`.
void co_volley_plan_take(struct co_volley_plan *plan, int to, const struct co_volley_seen *seen);

// Of one pair: as it should be, or not; what lies in between is neither.
enum co_volley_grade { CO_VOLLEY_UNCLEAR, CO_VOLLEY_GOOD, CO_VOLLEY_BAD };
enum co_volley_grade co_volley_speed(const struct co_volley_plan *plan, int from, int to);
enum co_volley_grade co_volley_loss(const struct co_volley_plan *plan, int from, int to);

// In the middle of those pairs that have this sender and this receiver; -1: any, and then of good pairs alone.
int64_t co_volley_usual_kbits(const struct co_volley_plan *plan, int from, int to);
double co_volley_usual_loss(const struct co_volley_plan *plan, int from, int to); // a share

#endif
