// SPDX-License-Identifier: BSD-3-Clause
//
// Storage and description of the counters of counters_table.h. Adding is inline in the header; here is what
// the report needs, and the maximum. Any thread.
#include "base/counters.h"

#include <stddef.h>

_Alignas(CO_COUNTER_PAGE) _Atomic uint64_t co_counter_values[CO_COUNTER_ROOM];

#define CO_COUNTER(id, name, tier, unit, help) {name, CO_COUNTER_##tier, unit, help},
static const struct co_counter_row rows[] = {
#include "base/counters_table.h"
};
#undef CO_COUNTER

_Static_assert(sizeof rows / sizeof rows[0] == CO_COUNTER_COUNT, "one row for each counter");

const struct co_counter_row *co_counter_row(enum co_counter_id id)
{
    return &rows[id];
}

void co_counter_raise(enum co_counter_id id, uint64_t value)
{
    uint64_t seen = co_load_relaxed(&co_counter_values[id]); // relaxed: a statistic, it orders nothing

    while (seen < value && !atomic_compare_exchange_weak_explicit(&co_counter_values[id], &seen, value,
                                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}
