// SPDX-License-Identifier: BSD-3-Clause
//
// libcastoff-group.so for tests, without coordinator, hop and RDMA: ends are threads of this process, the sender copies
// into the members' buffers. What goes wrong where is a plan.
#ifndef CASTOFF_TESTS_FAKE_GROUP_H
#define CASTOFF_TESTS_FAKE_GROUP_H

#include <stdbool.h>

#include "engine/collective/onesided_library.h"

enum fake_step { FAKE_NOWHERE, FAKE_LOAD, FAKE_CHECK, FAKE_OPEN, FAKE_WRITE, FAKE_COMPLETE, FAKE_CLOSE };

struct fake_group_plan {
    enum fake_step fails_at;
    int rank;        // which one fails: its number in the job for FAKE_LOAD and FAKE_CHECK, else in the communicator
    bool is_silent;  // the others find it out by their patience
    bool writes_bad; // what the sender has brought before it fails is wrong
};

// Before a job: nothing open, nothing counted.
void fake_group_begin(const struct fake_group_plan *plan);

// From now on nothing goes wrong.
void fake_group_heal(void);

// In the thread of a rank, before its engine opens.
void fake_group_be_rank(int rank);

// co_onesided_library_load in its place.
int fake_group_load(struct co_onesided_library *library, char *why, size_t why_room);

int fake_group_opened(void);     // ends so far, of all ranks
int fake_group_now(void);        // ends that are open now
int fake_group_name_count(void); // different groups so far

#endif
