// SPDX-License-Identifier: BSD-3-Clause
//
// Which way is faster for a class of calls, found out by trials in the job itself: the state of one team, of which all
// members have the same, because it changes by nothing but the words that all of them have told each other
// (co_adapt_hear) and by calls that MPI has them make in one order. Pure: no clock and no exchange in here. After
// STAR-MPI (Faraj, Yuan, Lowenthal, ICS 2006), which chooses among algorithms while the program runs; what is different
// is that the members agree, that a class is watched, and that what it may cost is bounded.
//
//   exchange    the members tell each other a word each, at a call whose number they know from the exchange before:
//               what the trial before took, and a digest of all that they count. Members with other digests were not
//               called alike (a broadcast of unequal lengths): from then on the team follows the prior, all of it.
//   spell       exchanges at every call while classes are on trial; each trial begins as all have come to it, so it
//               measures the way and nobody's lateness
//   checkpoint  an exchange between spells; they are as far apart as keeps their time small
//
// A class on trial (a race) takes the way in force and the other in the order A B B A A B B A; the longest time of all
// members counts for each trial, the second shortest of the four for each way. A trial in which a member lost its
// processor to somebody else says nothing of the way: it is repeated, a few times, and charged to nobody. What disturbs
// makes times longer, never shorter. So of a way that lost at least two times must be undisturbed; else the race is in
// doubt, nothing changes, and it is soon held again; likewise between hosts, where the shorter way is the longer one on
// average. After two of those what there is counts: that one way is disturbed each time may be its own doing.
#ifndef CASTOFF_ENGINE_DECIDE_ADAPT_H
#define CASTOFF_ENGINE_DECIDE_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/decide/adapt_class.h"

#define CO_ADAPT_CLASSES 32     // of a team; what comes later follows the prior
#define CO_ADAPT_WARM 4         // calls of a class before its first trial: most classes of most programs end here
#define CO_ADAPT_ENTITLED 400   // calls of a class after which it has its trials whatever has been spent
#define CO_ADAPT_ROUNDS 4       // trials of each way in a race
#define CO_ADAPT_REPEATS 3      // of disturbed trials, in a race; the others count
#define CO_ADAPT_DOUBTS 2       // races without a certain result, one after the other
#define CO_ADAPT_DOUBT_CALLS 64 // of a class from such a race to the next
#define CO_ADAPT_WATCH_FIRST UINT64_C(1024) // calls of a class until it is looked at again; doubles
#define CO_ADAPT_WATCH_LAST UINT64_C(65536)
#define CO_ADAPT_APART 8        // calls between checkpoints, at least,
#define CO_ADAPT_AGE 16         // ... one part in so many of those that the team has made,
#define CO_ADAPT_APART_MOST 512 // and at most, whatever they cost
#define CO_ADAPT_SHARE 200      // checkpoints take at most one part in so many of the time

enum co_adapt_way { CO_ADAPT_NATIVE, CO_ADAPT_CASTOFF, CO_ADAPT_WAYS, CO_ADAPT_PRIOR = CO_ADAPT_WAYS };

enum co_adapt_phase {
    CO_ADAPT_COUNTED, // follows the prior
    CO_ADAPT_RACED,   // likewise outside of spells
    CO_ADAPT_STANDS,  // has a verdict, which is in force
    CO_ADAPT_WATCHED  // likewise, and its runner-up has trials
};

struct co_adapt_race {
    unsigned trials; // that are over
    unsigned repeats;
    unsigned disturbed[CO_ADAPT_WAYS]; // of those that count
    uint64_t ns[CO_ADAPT_WAYS][CO_ADAPT_ROUNDS];
};

struct co_adapt_class {
    uint16_t key;
    uint8_t phase, prior, way;
    uint8_t doubts;
    bool is_live;      // called since the last exchange
    bool is_fixed;     // something else than the prior decides, or there was no room for it
    bool is_split;     // the prior is not one way for the whole class
    bool has_path;     // between members,
    uint64_t slow_ns;  // which seems to be what holds it up, whichever way it goes: what its calls take; 0: it is not
    uint64_t usual_ns; // the least that a call without trial has taken here; 0: not known
    uint64_t calls;
    uint64_t counted;              // of these, for what verdicts gain
    uint64_t first_at, decided_at; // number of the call with the first verdict; calls before the last one
    uint64_t watch_at, watch_every;
    uint64_t ns[CO_ADAPT_WAYS]; // by the last race
    uint64_t excess_ns;         // that trials took longer than the way in force
    int64_t gained_ns;          // over the prior, by verdicts before the one in force
    uint64_t changes;           // verdicts that were not the way in force before
    struct co_adapt_race race;
};

struct co_adapt {
    uint8_t slot[CO_ADAPT_KEYS];                         // of a key: 1 + its class; 0: not met yet
    struct co_adapt_class classes[CO_ADAPT_CLASSES + 1]; // the last: all that there was no room for
    unsigned used;
    unsigned idle;                   // exchanges in a row without a trial
    bool has_ended;                  // members differ: the prior, for good
    unsigned turned[CO_ADAPT_CALLS]; // classes of a call that go another way than without trials
    uint64_t calls;                  // of the team at the last exchange
    uint64_t cost_ns;                // of an exchange, as agreed
    struct co_adapt_class *trial;    // of the call of the last exchange, NULL: none
    struct co_adapt_class *latest;   // of the last call
    enum co_adapt_way trial_way;
    uint64_t trial_ns;  // ours, and below
    bool was_disturbed; // in it
    uint64_t exchange_ns, exchange_end_ns;
};

// What a member tells. All zero: it cannot take part.
struct co_adapt_word {
    uint64_t digest;      // never 0
    uint64_t trial_ns;    // of the trial before; if there was none, what calls of this class usually take; 0: not known
    uint64_t exchange_ns; // that the exchange before took here, 0: who knows; the least of all is what one costs
    uint64_t since_ns;    // since then
    uint64_t left_ns;     // that may yet be spent on trials and exchanges
    uint64_t is_disturbed; // 1: lost its processor during the trial before
};

// The call at which an exchange takes place.
struct co_adapt_call {
    uint64_t number; // among the team's, from 1
    unsigned key;
    bool can_change;         // nothing but the prior decides
    enum co_adapt_way prior; // of the class
    bool is_split;           // the prior is not one way for the whole class
    uint64_t slow_ns;        // what usually takes longer is slow; 0: none is
};

struct co_adapt_step {
    bool has_ended;        // no exchange follows
    enum co_adapt_way way; // CO_ADAPT_PRIOR: as if there were no trials
    bool is_trial;         // to be timed, from now to its end: co_adapt_note_call
    bool has_verdict;      // of the class of the trial before
    bool has_changed;      // it is another one than before
    uint64_t spent_ns;     // to be charged
    uint64_t earned_ns;    // to be added to what may be spent
    uint64_t next;         // number of the call of the next exchange
};

// What a process may yet spend on trials and on exchanges of spells, of all its teams, so long after the start: one
// part in a hundred of the time, of a second at least, and some of what it has gained.
static inline uint64_t co_adapt_left(uint64_t elapsed_ns, uint64_t spent_ns, uint64_t earned_ns)
{
    uint64_t allowed = (elapsed_ns > UINT64_C(1000000000) ? elapsed_ns : UINT64_C(1000000000)) / 100 + earned_ns;
    return allowed > spent_ns ? allowed - spent_ns : 0;
}

// How long a root may wait at an exchange for members that have not come: for as long as one of them may have lost its
// processor on a busy machine, and all its waits in vain together for one part in a hundred of the time, and some more
// in the beginning. Of a budget of its own: a root that is always ahead must not use up that of trials.
#define CO_ADAPT_PATIENCE_NS UINT64_C(20000000)
static inline uint64_t co_adapt_patience(uint64_t elapsed_ns, uint64_t waited_ns)
{
    uint64_t first_ns = 2 * CO_ADAPT_PATIENCE_NS, allowed = elapsed_ns / 100 > first_ns ? elapsed_ns / 100 : first_ns;
    uint64_t left_ns = allowed > waited_ns ? allowed - waited_ns : 0;
    return left_ns < CO_ADAPT_PATIENCE_NS ? left_ns : CO_ADAPT_PATIENCE_NS;
}

// `credit` calls of class `key` came before it was opened.
void co_adapt_open(struct co_adapt *adapt, unsigned key, unsigned credit);

// The way of a call that is not counted, since nobody can wait in it.
enum co_adapt_way co_adapt_way_of(const struct co_adapt *adapt, unsigned key);

// At an exchange: what we say, and what comes of all the members' words.
void co_adapt_say(const struct co_adapt *adapt, const struct co_adapt_call *call, uint64_t now_ns, uint64_t left_ns,
                  struct co_adapt_word *word);
// All members' words as one, in place of which it may be heard. All zero: they were not called alike, or one of them
// cannot take part.
void co_adapt_combine(struct co_adapt_word *all, const struct co_adapt_word *words, int members);
struct co_adapt_step co_adapt_hear(struct co_adapt *adapt, const struct co_adapt_call *call,
                                   const struct co_adapt_word *words, int members);

// `is_disturbed`: this member lost its processor meanwhile.
void co_adapt_note_exchange(struct co_adapt *adapt, uint64_t began_ns, uint64_t ended_ns, bool is_disturbed);
// Of the last call, whether it was a trial or not.
void co_adapt_note_call(struct co_adapt *adapt, uint64_t ns, bool is_disturbed);

// For the report: over the prior, by the times of its races; negative: lost.
int64_t co_adapt_gained_ns(const struct co_adapt_class *of);

struct co_adapt_class *co_adapt_meet(struct co_adapt *adapt, unsigned key);

static inline struct co_adapt_class *co_adapt_find(struct co_adapt *adapt, unsigned key)
{
    unsigned slot = adapt->slot[key];
    return __builtin_expect(slot != 0, 1) ? &adapt->classes[slot - 1] : co_adapt_meet(adapt, key);
}

static inline enum co_adapt_way co_adapt_way_in_force(const struct co_adapt_class *of)
{
    return of->phase >= CO_ADAPT_STANDS ? (enum co_adapt_way)of->way : CO_ADAPT_PRIOR;
}

// Counts a call without exchange, and says its way.
static inline enum co_adapt_way co_adapt_count(struct co_adapt *adapt, unsigned key)
{
    struct co_adapt_class *of = co_adapt_find(adapt, key);
    of->calls++;
    of->is_live = true;
    adapt->latest = of;
    return co_adapt_way_in_force(of);
}

#endif
