// SPDX-License-Identifier: BSD-3-Clause
//
// What became of the calls that castoff looked at: seen, taken, declined by reason, failed, bytes, and how long they
// took. Counted only when a report was asked for. Relaxed atomics: read after the last call. Hot; any thread.
#ifndef CASTOFF_PMPI_REPORT_CALL_COUNTS_H
#define CASTOFF_PMPI_REPORT_CALL_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "engine/decide/decide.h"
#include "pmpi/life/process.h"

#define CO_LATENCY_STEPS 256 // four to each power of two of nanoseconds

struct co_call_counts {
    uint64_t seen, failed;
    uint64_t by_reason[CO_REASON_COUNT]; // CO_TAKE: taken
    uint64_t bytes_seen, bytes_taken;    // Bcast: the message; Allgather: one rank's block
    uint64_t taken_in[CO_LATENCY_STEPS], declined_in[CO_LATENCY_STEPS];
};

struct co_call_ticket {
    enum co_call call;
    uint64_t began_ns; // 0: nothing is counted
};

// When a call begins; costs one load when nothing is counted.
static inline struct co_call_ticket co_call_begin(enum co_call call)
{
    return (struct co_call_ticket){.call = call, .began_ns = co_process.counts ? co_clock_now_ns() : 0};
}

// When it has ended (an Iallgather: when its completion is seen).
void co_call_count(const struct co_call_ticket *ticket, enum co_reason reason, size_t bytes, int code);

static inline void co_call_end(const struct co_call_ticket *ticket, enum co_reason reason, size_t bytes, int code)
{
    if (__builtin_expect(ticket->began_ns != 0, 0)) {
        co_call_count(ticket, reason, bytes, code);
    }
}

// Copies the counts of this process; the struct is all uint64_t, so that snapshots of ranks are added as an array.
void co_call_counts_snapshot(struct co_call_counts counts[CO_CALL_COUNT]);

// Upper end of the step in which a share of the calls has ended, in ns; 0 without calls.
uint64_t co_latency_percentile(const uint64_t steps[CO_LATENCY_STEPS], double share);

#endif
