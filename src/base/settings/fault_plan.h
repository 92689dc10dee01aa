// SPDX-License-Identifier: BSD-3-Clause
//
// Which faults are injected: a plan and its text form, which CASTOFF_FAULT has and tests make. What befalls a datagram
// by it is transport/fault/lossy.h. Pure; any thread.
#ifndef CASTOFF_BASE_SETTINGS_FAULT_PLAN_H
#define CASTOFF_BASE_SETTINGS_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum co_fault_kind { CO_FAULT_DATA = 1, CO_FAULT_REPAIR = 2, CO_FAULT_CONTROL = 4, CO_FAULT_ALL = 7 };

#define CO_FAULT_SCRIPT_MAX 64

struct co_fault_plan {
    double drop, duplicate, reorder, delay, corrupt, truncate; // probability for each datagram
    double miss;                                               // ... that arrives: of a multicast the others have it
    uint64_t delay_ns;        // how long a delayed datagram is held; a reordered one up to that
    uint64_t seed;            // each endpoint mixes in its rank
    unsigned kinds;           // CO_FAULT_* mask of what the probabilities apply to; default ALL
    bool blackhole;           // all multicast vanishes
    uint64_t blackhole_after; // ... after so many multicast datagrams of this endpoint
    int victim;               // only what this rank sends, and what arrives there; -1 all
    uint64_t first_number;    // of messages and calls of proxies, which else begin with 0
    // Drop exactly these first-transmission data datagrams (0, 1, ... counted by sender).
    uint64_t script[CO_FAULT_SCRIPT_MAX];
    unsigned script_count;
};

// "drop=0.01,miss=0.01,dup=0.01,reorder=0.05,delay=0.01:2ms,corrupt=0.001,truncate=0.001,seed=7,kind=data+control,
// blackhole=1,blackhole_after=100,rank=2,script=3:17:18,first=65530". Empty: no fault. blackhole_after alone is enough;
// delay_ns is 1 ms and seed 1 unless given. Returns 0, or -EINVAL with the offending word in why.
int co_fault_plan_parse(struct co_fault_plan *plan, const char *text, char *why, size_t why_room);

#endif
