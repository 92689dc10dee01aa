// SPDX-License-Identifier: BSD-3-Clause
//
// A job in virtual time whose members try both ways, with noise, lateness, and processors that are lost to others: what
// the tests of trials share. All members must come to the same step at every call. Linked into every unit test.
#ifndef CASTOFF_TESTS_ADAPT_WORLD_H
#define CASTOFF_TESTS_ADAPT_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/decide/adapt.h"

enum { MEMBERS_MOST = 8, CLASSES_MOST = 12, AWAY_NS = 4000000 };

struct adapt_world {
    uint64_t random;
    int members, classes;
    uint64_t true_ns[CLASSES_MOST][CO_ADAPT_WAYS];
    unsigned key[CLASSES_MOST];
    enum co_adapt_way prior[CLASSES_MOST];
    bool is_split;     // the prior is another one in a part of each class
    double noise;      // of a time, at most
    unsigned cold;     // calls of the way that is not the prior which yet take twenty times as long
    unsigned spikes;   // of a thousand times: those that are ten times as long
    unsigned late;     // of a thousand calls: those to which a member comes late
    unsigned away;     // likewise: those, and exchanges, in which it loses its processor for some milliseconds
    uint64_t cost_ns;  // of an exchange
    uint64_t slow_ns;  // calls that take longer have no trials, and each is timed; 0: there is no such bound
    uint64_t think_ns; // that the program computes between calls, at most
    struct co_adapt adapt[MEMBERS_MOST];
    uint64_t now_ns, spent_ns, earned_ns, next, calls;
    // What it came to.
    uint64_t exchanges, trials, called[CLASSES_MOST], trial_loss_ns;
    uint64_t later_best_ns, later_taken_ns; // of the calls of a class after its hundredth, exchanges included
};

uint64_t adapt_world_draw(struct adapt_world *world, uint64_t below);

// Members are set by the test, or: four of them with one class, of 64 KiB, and little noise.
void adapt_world_open_members(struct adapt_world *world);
void adapt_world_open_simple(struct adapt_world *world, uint64_t native_ns, uint64_t castoff_ns,
                             enum co_adapt_way prior);

// One call of class `at`; so many, of all classes.
void adapt_world_call(struct adapt_world *world, int at);
void adapt_world_run(struct adapt_world *world, int calls);

enum co_adapt_way adapt_world_way(const struct adapt_world *world, int at); // in force
const struct co_adapt_class *adapt_world_class(const struct adapt_world *world, int at);

#endif
