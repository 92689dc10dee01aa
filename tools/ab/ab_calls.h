// SPDX-License-Identifier: BSD-3-Clause
//
// Which calls a program spends its time in, without and with castoff: read from the traces of one run of each side,
// and shown as a table, the call that gains most first. Cold.
#ifndef CASTOFF_TOOLS_AB_CALLS_H
#define CASTOFF_TOOLS_AB_CALLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ab_side.h"
#include "record/trace/trace_format.h"

struct co_ab_call {
    const char *name;         // "MPI_Bcast"
    uint64_t calls[AB_SIDES]; // of all ranks that have a trace
    uint64_t ns[AB_SIDES];    // likewise; a call within another one counts as that one's
};

struct co_ab_calls {
    struct co_ab_call of[CO_TRACE_KIND_COUNT]; // by kind, until they are sorted
    unsigned traces[AB_SIDES];
    uint32_t ranks;
    uint64_t elapsed_ns[AB_SIDES]; // of the whole command
};

static inline bool co_ab_calls_are_timed(const struct co_ab_calls *calls)
{
    return calls->traces[AB_WITHOUT] > 0 && calls->traces[AB_WITH] > 0;
}

// Adds up the traces in `folder`, of the ranks of the job itself.
void co_ab_calls_read(struct co_ab_calls *calls, enum co_ab_side side, const char *folder);
// When both sides are read: the call that gains most comes first.
void co_ab_calls_sort(struct co_ab_calls *calls);
void co_ab_calls_print(const struct co_ab_calls *calls, FILE *stream);
json_t *co_ab_calls_json(const struct co_ab_calls *calls);

#endif
