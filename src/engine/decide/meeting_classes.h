// SPDX-License-Identifier: BSD-3-Clause
//
// Which way is faster for broadcasts of a communicator between hosts, by size: what all its members keep alike (calls,
// verdicts), and what its rank 0 comes to them by (times, what a trial costs). In a broadcast nobody can be waited
// for, so it is tried behind the program's next barrier or allreduce, where all members are together (meetings.c), by
// batches in the program's own rhythm. A verdict only takes calls away from castoff: what
// the tune table leaves to native stays there. Pure; counting is hot.
#ifndef CASTOFF_ENGINE_DECIDE_MEETING_CLASSES_H
#define CASTOFF_ENGINE_DECIDE_MEETING_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define CO_MEETING_CLASSES 23 // one for each power of two, up to 4 MiB and more, less than 8
#define CO_MEETING_WARM 16    // calls of a class before its first trial,
#define CO_MEETING_AGAIN 16   // and times as many as before its last verdict until the next one
#define CO_MEETING_ROUNDS 3   // of trials before a verdict, if the first ones are not clear
#define CO_MEETING_CALLS 10   // of a round, at least
#define CO_MEETING_COST_NS (UINT64_C(6000) * CO_NS_PER_US) // of a round of short calls

enum co_meeting_way { CO_MEETING_NATIVE, CO_MEETING_CASTOFF, CO_MEETING_WAYS };

// For a call, the shortest of its batches and the sum of all.
struct co_meeting_times {
    uint64_t least_ns[CO_MEETING_WAYS], sum_ns[CO_MEETING_WAYS];
};

struct co_meeting_class {
    uint64_t calls;
    bool is_lost; // by castoff: native has its calls
    // Of rank 0.
    uint32_t bytes;      // of the last call
    uint64_t called_ns;  // that calls took here: of a root less than until all have it
    unsigned rounds;     // that are over, of the race under way
    uint64_t cost_ns;    // of a round; 0: not known
    uint64_t tried_at;   // calls at its last verdict; 0: none yet
    uint64_t lost_calls; // that native had by verdicts before that one
    uint64_t first_at, changes;
    uint64_t ns[CO_MEETING_WAYS]; // by the last race
    uint64_t excess_ns; // that castoff's calls of trials took longer than native's, or native's than castoff's
    struct co_meeting_times times;
};

struct co_meeting_classes {
    struct co_meeting_class of[CO_MEETING_CLASSES];
};

// -1: none, too long to be tried, or nothing.
static inline int co_meeting_classes_index(size_t bytes)
{
    int power = bytes == 0 ? -1 : 63 - __builtin_clzll(bytes);
    return power < CO_MEETING_CLASSES ? power : -1;
}

// Whether native has such a call.
static inline bool co_meeting_classes_decline(const struct co_meeting_classes *classes, size_t bytes)
{
    int at = co_meeting_classes_index(bytes);
    return at >= 0 && classes->of[at].is_lost;
}

static inline void co_meeting_classes_count(struct co_meeting_classes *classes, size_t bytes, uint64_t took_ns)
{
    int at = co_meeting_classes_index(bytes);
    if (at >= 0) {
        classes->of[at].calls++;
        classes->of[at].bytes = (uint32_t)bytes;
        classes->of[at].called_ns += took_ns;
    }
}

// What a round of a class is likely to take: what it took, or was about to take, if that is known; else by the
// program's own calls, which wait for each other, too.
uint64_t co_meeting_class_cost_ns(const struct co_meeting_class *class);

// Never negative. Of who was not called alike (broadcasts of unequal lengths) it is another one.
int co_meeting_classes_digest(const struct co_meeting_classes *classes);

// Of the classes with a bit that are due for a trial the one whose race is under way, else the one that costs least, or
// of such the one that has waited longest; -1: none is.
int co_meeting_classes_due(const struct co_meeting_classes *classes, uint32_t open);
// Calls after which one may be, when none is.
uint64_t co_meeting_classes_next(uint64_t calls);

void co_meeting_classes_add_time(struct co_meeting_class *class, enum co_meeting_way way, uint64_t ns); // of a batch
// After a round: whether it was the last one, for no further one is likely to change the verdict.
bool co_meeting_classes_end_round(struct co_meeting_class *class);
// How many times as long as native castoff takes, at best; 0: not known.
double co_meeting_classes_ratio(const struct co_meeting_class *class);
// Ends the race: whether castoff has lost it.
bool co_meeting_classes_judge(struct co_meeting_class *class);
// By all members: the verdict.
void co_meeting_classes_settle(struct co_meeting_class *class, bool is_lost);
int64_t co_meeting_classes_gained_ns(const struct co_meeting_class *class);

#endif
