// SPDX-License-Identifier: BSD-3-Clause
//
// Which of two paths of a copy is faster, learned from copies that are made anyway. What was measured at the start is
// the first guess, but which path is faster hangs on what the program does between its calls (blocks that it writes
// anew are faster by ring, blocks that it gives again and again as they are are in the reader's cache, and faster
// straight), and on the machine, which may not be the same at all times. So from time to time a class of sizes has a
// trial: copies by the path of now, then by the other one, and the least time of each counts, for whatever disturbs a
// copy makes it longer. No clock: whoever copies measures. Who gives the same times in the same order comes to the same
// paths.
#ifndef CASTOFF_BASE_COPY_TRIALS_H
#define CASTOFF_BASE_COPY_TRIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum co_copy_path { CO_COPY_BY_RING, CO_COPY_STRAIGHT, CO_COPY_PATHS };

#define CO_COPY_TRIAL_CLASSES 8      // by power of two; the last one has all above, too
#define CO_COPY_TRIAL_TIMES 4        // by each path
#define CO_COPY_TRIAL_HOPELESS 2     // times by the other path, after which it is clear that it is much slower
#define CO_COPY_TRIAL_FIRST 2        // copies before the first trial
#define CO_COPY_TRIAL_WAITS 512      // copies without a time of a trial, until that is given up
#define CO_COPY_TRIAL_PRICE 256      // copies that a trial is put off for each one by the other path that none needed
#define CO_COPY_TRIAL_REST_LEAST 128 // copies between two trials, twice as many each time
#define CO_COPY_TRIAL_REST_MOST 1024

struct co_copy_class {
    uint16_t left;     // copies until the next trial
    uint8_t rests;     // trials in turn that changed nothing
    uint8_t path : 1;  // of now, outside trials
    bool is_known : 1; // had a copy
};

struct co_copy_trials {
    uint32_t least_ns[CO_COPY_PATHS]; // of the trial under way
    uint8_t times[CO_COPY_PATHS];     // so many there were
    uint8_t strays;                   // copies by the other path, as far as it needs them
    uint8_t tried;                    // its class; others wait for its end
    uint16_t waited;                  // copies since its last time
    bool is_on;
    struct co_copy_class classes[CO_COPY_TRIAL_CLASSES];
};

// Classes begin at `least` bytes.
unsigned co_trial_class(size_t bytes, size_t least);
// The path that the next copy of a class that had one should take.
enum co_copy_path co_trial_path(const struct co_copy_trials *trials, unsigned class);
// A copy of the class begins; its path, where it is free to choose.
enum co_copy_path co_trial_next(struct co_copy_trials *trials, unsigned class, enum co_copy_path guess);
// And the path that it takes: a sender that is far ahead takes the other one more often than a trial needs.
void co_trial_went(struct co_copy_trials *trials, unsigned class, enum co_copy_path path);
// Whether the time of a copy is asked for.
static inline bool co_trial_wants(const struct co_copy_trials *trials, unsigned class)
{
    return trials->is_on && trials->tried == class;
}
// It could not take this path, which is left for a long time.
void co_trial_refused(struct co_copy_trials *trials, unsigned class, enum co_copy_path path);
// It took this path, and so long.
void co_trial_took(struct co_copy_trials *trials, unsigned class, enum co_copy_path path, uint64_t ns);

#endif
