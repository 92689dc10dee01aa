// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of match_speed: the three cases of a block (S2, section 5), by threads and by counted steps.
#ifndef CASTOFF_BENCH_MATCH_SPEED_H
#define CASTOFF_BENCH_MATCH_SPEED_H

#include "matching/match_lane.h"

enum { SPEED_RECEIVES = 256 };

// A matcher of the usual size, with receives and messages that belong to the caller.
struct speed_rig {
    void *memory;
    struct co_matcher *matcher;
    struct co_match_node receives[SPEED_RECEIVES], messages[SPEED_RECEIVES];
};

void speed_rig_open(struct speed_rig *rig);
void speed_rig_close(struct speed_rig *rig);

// What the paths of a block are for: every message has its own receive; all want the same, which begins a run of equal
// ones; all want the same, and the next is of another kind. In each, message i takes receive i.
void speed_rig_post(struct speed_rig *rig, enum co_match_path path, unsigned count);
void speed_rig_block(struct speed_rig *rig, struct co_match_batch *block, enum co_match_path path, unsigned first,
                     unsigned lanes);
// Ends the program when a message of the block took another receive. How many lanes behind the first went by `path`.
unsigned speed_rig_check(struct speed_rig *rig, const struct co_match_batch *block, enum co_match_path path,
                         unsigned first);

// match_speed_threads.c: nanoseconds of a message, begin and end of its block included. `lanes` are shared out to
// `threads`, of which the caller is one. Lanes that do not run beside each other do not meet: *share of those behind
// the first went by `path`.
double speed_threads(enum co_match_path path, unsigned lanes, unsigned threads, double seconds, double *share);

// match_speed_steps.c: of one block whose lanes all go on at once, a step each.
struct speed_steps {
    unsigned rounds; // until the last lane is done: the critical path
    unsigned work;   // steps of all lanes together
};
struct speed_steps speed_steps_count(enum co_match_path path, unsigned lanes);

double speed_median(double *values, int count); // sorts them

#endif
