// SPDX-License-Identifier: BSD-3-Clause
//
// Trials of a communicator, as its team keeps them. Private to src/engine; engine.h has what calls need.
#ifndef CASTOFF_ENGINE_DECIDE_TRIALS_H
#define CASTOFF_ENGINE_DECIDE_TRIALS_H

#include <stdint.h>
#include <stdlib.h>

struct co_adapt;
struct co_engine;

// What a communicator's blocking collectives are counted for. Equal on all members that were called alike.
struct co_team_trials {
    uint64_t calls;         // of blocking collectives
    uint64_t next;          // number of the one before which the members exchange words; UINT64_MAX: none
    struct co_adapt *table; // NULL: before the first exchange, or none comes
    uint16_t first_class;   // of all calls before it; CO_TRIALS_NO_CLASS: they differed
    uint64_t preemptions;   // of the calling thread as the trial under way began
    unsigned passed;        // exchanges in a row that a root passed by
};

// Once the facts of the ranks are known.
void co_trials_open(struct co_engine *engine);

// None comes any more.
static inline void co_team_trials_close(struct co_team_trials *trials)
{
    free(trials->table);
    trials->table = NULL;
    trials->next = UINT64_MAX;
}

#endif
