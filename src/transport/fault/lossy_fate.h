// SPDX-License-Identifier: BSD-3-Clause
//
// What befalls one datagram under the fault injector: a function of the plan, the seed and the datagram's number. Used
// by lossy.c; pure.
#ifndef CASTOFF_TRANSPORT_FAULT_LOSSY_FATE_H
#define CASTOFF_TRANSPORT_FAULT_LOSSY_FATE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/fault/lossy.h"

// Datagrams sent so far.
struct co_lossy_count {
    uint64_t all, to_groups, data;
};

struct co_lossy_fate {
    bool dropped, duplicated, corrupted, truncated;
    uint64_t hold_ns;
    uint64_t where; // random bits for the place of the damage
};

// Of the next datagram after those sent.
struct co_lossy_fate co_lossy_fate(const struct co_fault_plan *plan, uint64_t seed, const struct co_lossy_count *sent,
                                   struct co_destination to, enum co_fault_kind kind);

// Whether the next datagram is missed after so many that have arrived.
bool co_lossy_misses(const struct co_fault_plan *plan, uint64_t seed, uint64_t arrived, enum co_fault_kind kind);

// A plan for one victim leaves the others alone.
struct co_fault_plan co_lossy_plan_for(const struct co_fault_plan *plan, int rank);

#endif
