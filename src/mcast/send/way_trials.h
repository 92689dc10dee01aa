// SPDX-License-Identifier: BSD-3-Clause
//
// Which of the two ways is the faster one for a class of small allgathers (wire/agreed_ways.h), found by trying: a
// rate would not tell it alone, for a small allgather's time is also that of processors, of tokens that a shaper has
// saved up, and of the word that follows. One member does so, for all: it times its own operations, sends the other way
// for a few of them, and changes over when these were clearly faster, twice in a row. Words come into force later, so
// all is driven by what the operations that end went by. Nanoseconds; by the holder. Pure, warm.
#ifndef CASTOFF_MCAST_SEND_WAY_TRIALS_H
#define CASTOFF_MCAST_SEND_WAY_TRIALS_H

#include "mcast/wire/agreed_ways.h"

#define CO_WAY_TRIAL_WARM 16    // operations of a class before its first spell: most programs have no more
#define CO_WAY_TRIAL_SPELL 8    // that go the other way, and as many before them are looked at
#define CO_WAY_TRIAL_SKIPPED 2  // of these, which still meet what the way before has left in queues
#define CO_WAY_TRIAL_WINS 2     // spells
#define CO_WAY_TRIAL_CLEARLY 10 // one part in so many faster
#define CO_WAY_TRIAL_AGAIN 1024 // operations of the class from a race to the next; doubles,
#define CO_WAY_TRIAL_AGAIN_MOST 65536

struct co_way_trial {
    uint64_t calls, next; // operations of the class, and at which of them the next spell is called
    uint32_t again;       // from a race to the next; 0: there was none
    uint8_t standing;     // outside of spells
    uint8_t left;         // of the spell that is being called
    uint8_t alone;        // calls in a row
    uint8_t wins;
    bool is_under_way; // called, and not yet judged
    uint8_t counts[CO_WAY_END];
    uint32_t latest_ns[CO_WAY_END][CO_WAY_TRIAL_SPELL]; // rings; of the other way since the spell began
};

// An operation of the class begins: what is said in it. is_alone: no other of the group is under way here.
enum co_way co_way_trial_call(struct co_way_trial *trial, bool is_alone);
// One that went that way, and began alone, took so long here.
void co_way_trial_take(struct co_way_trial *trial, enum co_way way, uint64_t ns);

#endif
