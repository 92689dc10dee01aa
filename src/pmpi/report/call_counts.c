// SPDX-License-Identifier: BSD-3-Clause
//
// The counts and their histogram, whose steps are within 19 % of the truth at 2 KiB a table.
#include "pmpi/report/call_counts.h"

#include "base/atomics.h"

#include <mpi.h>

#define WORDS (sizeof(struct co_call_counts) / sizeof(uint64_t))

// The same layout as the struct, word for word.
static union {
    _Atomic uint64_t words[CO_CALL_COUNT][WORDS];
    struct co_call_counts layout[CO_CALL_COUNT];
} counted;

_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "counts are added up as plain words");

#define WORD_OF(field) (offsetof(struct co_call_counts, field) / sizeof(uint64_t))

static void add(enum co_call call, size_t word, uint64_t amount)
{
    co_add_relaxed(&counted.words[call][word], amount); // relaxed: a statistic
}

static unsigned step_of(uint64_t ns)
{
    if (ns < 4) {
        return (unsigned)ns;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(ns);
    return 4 * (power - 1) + (unsigned)(ns >> (power - 2) & 3);
}

static uint64_t end_of_step(unsigned step)
{
    if (step < 4) {
        return step;
    }
    unsigned power = step / 4 + 1;
    return ((uint64_t)(step % 4 + 5) << (power - 2)) - 1;
}

void co_call_count(const struct co_call_ticket *ticket, enum co_reason reason, size_t bytes, int code)
{
    unsigned step = step_of(co_clock_now_ns() - ticket->began_ns);
    add(ticket->call, WORD_OF(seen), 1);
    add(ticket->call, WORD_OF(by_reason) + reason, 1);
    add(ticket->call, WORD_OF(bytes_seen), bytes);
    if (code != MPI_SUCCESS) {
        add(ticket->call, WORD_OF(failed), 1);
    }
    if (reason == CO_TAKE) {
        add(ticket->call, WORD_OF(bytes_taken), bytes);
        add(ticket->call, WORD_OF(taken_in) + step, 1);
    } else {
        add(ticket->call, WORD_OF(declined_in) + step, 1);
    }
}

void co_call_counts_snapshot(struct co_call_counts counts[CO_CALL_COUNT])
{
    uint64_t *words = (uint64_t *)counts;
    for (size_t i = 0; i < CO_CALL_COUNT * WORDS; i++) {
        words[i] = co_load_relaxed(&counted.words[i / WORDS][i % WORDS]); // relaxed: the calls are over
    }
}

uint64_t co_latency_percentile(const uint64_t steps[CO_LATENCY_STEPS], double share)
{
    uint64_t all = 0, passed = 0;
    for (unsigned i = 0; i < CO_LATENCY_STEPS; i++) {
        all += steps[i];
    }
    for (unsigned i = 0; i < CO_LATENCY_STEPS; i++) {
        passed += steps[i];
        if (passed > 0 && (double)passed >= share * (double)all) {
            return end_of_step(i);
        }
    }
    return 0;
}
