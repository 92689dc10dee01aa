// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the wire and the engine: one table (counters_table.h) gives id, name, unit and help; an enum and
// the report come from it. One process-wide array of relaxed 64-bit atomics: an add is a few ns and no order is
// implied. Any thread.
#ifndef CASTOFF_BASE_COUNTERS_H
#define CASTOFF_BASE_COUNTERS_H

#include <stdint.h>

#include "base/atomics.h"

#define CO_COUNTER(id, name, tier, unit, help) CO_COUNT_##id,
enum co_counter_id {
#include "base/counters_table.h"
    CO_COUNTER_COUNT
};
#undef CO_COUNTER

enum co_counter_tier { CO_COUNTER_USER, CO_COUNTER_EXPERT };

struct co_counter_row {
    const char *name;
    enum co_counter_tier tier;
    const char *unit, *help;
};

// They have pages of their own, which live_counters.h shows to others: as large as the machine's may be.
#if defined __x86_64__ || defined __i386__ || defined __riscv
#define CO_COUNTER_PAGE 4096
#else
#define CO_COUNTER_PAGE 65536
#endif
#define CO_COUNTER_ROOM                                                                                                \
    ((CO_COUNTER_COUNT * sizeof(uint64_t) + CO_COUNTER_PAGE - 1) / CO_COUNTER_PAGE * CO_COUNTER_PAGE / sizeof(uint64_t))

extern _Atomic uint64_t co_counter_values[CO_COUNTER_ROOM];

const struct co_counter_row *co_counter_row(enum co_counter_id id);

static inline void co_counter_add(enum co_counter_id id, uint64_t amount)
{
    co_add_relaxed(&co_counter_values[id], amount); // relaxed: a statistic, read after the job's last barrier
}

static inline uint64_t co_counter_read(enum co_counter_id id)
{
    return co_load_relaxed(&co_counter_values[id]);
}

// Of what is so now, where one thread at a time says it.
static inline void co_counter_put(enum co_counter_id id, uint64_t value)
{
    co_store_relaxed(&co_counter_values[id], value); // relaxed: as above
}

// Keeps the largest value seen.
void co_counter_raise(enum co_counter_id id, uint64_t value);

#endif
