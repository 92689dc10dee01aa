// SPDX-License-Identifier: BSD-3-Clause
//
// Which request, or matched message, a handle in a trace stands for: MPI uses handles again, so each record that makes
// one gets a new number, and whatever names it later means the last. Fed with a rank's records in the order of
// co_trace_file_next. A completion's status is only to be believed where its request is a receive's. One thread.
#ifndef CASTOFF_RECORD_TRACE_LINKS_H
#define CASTOFF_RECORD_TRACE_LINKS_H

#include <stdbool.h>

#include "base/hash_map.h"
#include "record/trace/trace_format.h"

struct co_trace_links {
    struct co_hash_map map;
    uint64_t last;
};

void co_trace_links_open(struct co_trace_links *links);
void co_trace_links_close(struct co_trace_links *links);

struct co_trace_link {
    uint64_t number;         // from 1; 0: null, complete when made, or made before the trace began
    enum co_trace_kind kind; // of the call that made it
};

// A handle that a call has just given out; its number, 0 for the null handle, or without memory. One that
// stands for what is complete is not found again.
uint64_t co_trace_links_make(struct co_trace_links *links, uint64_t handle, enum co_trace_kind kind);
struct co_trace_link co_trace_links_find(const struct co_trace_links *links, uint64_t handle);

// Whether what a call of this kind starts receives a message.
static inline bool co_trace_receives(enum co_trace_kind kind)
{
    return kind == CO_TRACE_Irecv || kind == CO_TRACE_Recv_init || kind == CO_TRACE_Imrecv;
}

#endif
