// SPDX-License-Identifier: BSD-3-Clause
//
// Which way an allgather of a team goes, learned from its calls. What was measured when the node opened is the first
// guess, but which way is faster hangs on what the program does between its calls: blocks that it writes anew are
// faster by ring, blocks that it gives again and again as they are are in the reader's cache, and faster straight. So
// from time to time a class of sizes has calls of both ways. A call's time is the least of all members, the one's that
// came last; all members hear the same times, a call later, and so they all choose alike. No clock, no shared memory.
// Hot for large operations.
#ifndef CASTOFF_SHM_TRIALS_H
#define CASTOFF_SHM_TRIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/shm_judge.h"

#define CO_SHM_TRIAL_LEAST ((size_t)64 << 10) // shorter calls would show the price of the clock
#define CO_SHM_TRIAL_CLASSES 7                // by power of two; the last one has all above, too
#define CO_SHM_TRIAL_TURNS 8                  // calls of a trial: half of them the way of now, then half the other
#define CO_SHM_TRIAL_FIRST 2                  // calls before the first trial
#define CO_SHM_TRIAL_WAITS 32       // calls of other classes, until one of them ends a trial that stands still
#define CO_SHM_TRIAL_REST_LEAST 256 // between two trials, twice as many each time
#define CO_SHM_TRIAL_REST_MOST 8192

struct co_shm_trial_class {
    uint16_t left, rest; // calls until the next trial, and between the last two; rest 0: none was yet
    uint8_t way;         // of now
    bool is_known;       // had a call
};

struct co_shm_trial_call {
    uint8_t class, way, turn; // turn 0: in no trial
};

// Small: each communicator has one.
struct co_shm_trials {
    uint32_t least_ns[CO_SHM_COPIES]; // of the trial under way
    struct co_shm_trial_class classes[CO_SHM_TRIAL_CLASSES];
    struct co_shm_trial_call now, before; // before: its time is not known yet
    uint8_t tried, turns; // class of the trial under way, and its turns so far; others wait for its end,
    uint8_t waited;       // so many calls since its last turn
};

// The way of the next call. All members ask at the same calls, with the same lengths and first guess.
enum co_shm_copy co_shm_trials_next(struct co_shm_trials *trials, size_t bytes, enum co_shm_copy guess);

// This call is over, and so long the one before it has taken; 0: there was none.
void co_shm_trials_took(struct co_shm_trials *trials, uint64_t before_ns);

#endif
