// SPDX-License-Identifier: BSD-3-Clause
//
// Parts of kernel_count: what it can run, each over any number of things that are all prepared before the first.
#ifndef CASTOFF_BENCH_KERNEL_COUNT_H
#define CASTOFF_BENCH_KERNEL_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COUNT_MOST = 4096, COUNT_BATCH = 32 };

// One case: false from run: it went wrong.
struct count_case {
    const char *name;
    bool (*run)(unsigned variant, unsigned count);
    unsigned variant;
    const char *what;
};

extern const struct count_case count_datapath_cases[], count_matcher_cases[]; // to one without a name

// What has come of it, for comparison: numbers, no addresses.
void count_note(uint64_t number);

// The same on every machine.
uint32_t count_dice(uint32_t sides);

#endif
