// SPDX-License-Identifier: BSD-3-Clause
//
// Trials of broadcasts between hosts behind calls in which all members of a communicator are together anyway.
#ifndef CASTOFF_ENGINE_DECIDE_MEETINGS_H
#define CASTOFF_ENGINE_DECIDE_MEETINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

struct co_meeting_classes;

// The communicator by the MPI below, all its members in one order; 0 or -errno.
struct co_meetings_below {
    int (*broadcast)(void *arg, void *data, size_t bytes); // from its rank 0
    int (*barrier)(void *arg);
    int (*minimum)(void *arg, int *values, int count); // in place
    void *arg;
};

// What a communicator keeps of its broadcasts: small, for most have none. Equal on all members whatever lengths they
// give, so that all meet at the same calls; the lengths are in the table, which all have made in the first meeting.
struct co_meetings {
    uint64_t calls;    // broadcasts
    uint64_t chances;  // calls at which all members are together
    uint64_t at_calls; // the next meeting is at the first chance from this number of both on
    uint64_t at_chances;
    struct co_meeting_classes *table; // NULL: none yet
    uint64_t met_ns;                  // rank 0: when the last meeting was,
    uint64_t met_calls, met_chances;
    uint64_t word_ns; // and what the last one without trials took
};

// NULL: a communicator with such facts has none, or a setting says where its broadcasts go. 0 or -ENOMEM.
int co_meetings_open(struct co_meetings **out, const struct co_engine *engine, const struct co_team_facts *facts);
void co_meetings_close(struct co_meetings *trials); // may be NULL

// Whether native has a broadcast of such a length.
bool co_meetings_decline(const struct co_meetings *trials, size_t bytes);
// After a broadcast that this member took part in: one that native refused here counts on no member. 0 bytes: its
// length is not known. took_ns: only rank 0's is looked at.
void co_meetings_count(struct co_meetings *trials, size_t bytes, uint64_t took_ns);

static inline bool co_meetings_are_due(const struct co_meetings *trials)
{
    return trials->calls >= trials->at_calls && trials->chances >= trials->at_chances;
}

// Collective over the communicator, behind a call of the program that all its members have made. `team` NULL: there is
// none here, and so there will be no trials, on no member.
void co_meetings_hold(struct co_meetings *trials, struct co_engine *engine, struct co_team *team,
                      const struct co_team_facts *facts, int rank, const struct co_meetings_below *below);

// For the report, as co_team_trials_next.
bool co_meetings_next(const struct co_meetings *trials, const struct co_team_facts *facts, unsigned *at,
                      struct co_trial_row *row);

#endif
