// SPDX-License-Identifier: BSD-3-Clause
//
// Which request, or matched message, a handle in a trace stands for: MPI uses handles again, so each record that makes
// one gets a new number, and whatever names it later means the last. Fed with a rank's records in the order of
// co_trace_file_next. One thread.
#ifndef CASTOFF_TRACE_LINKS_H
#define CASTOFF_TRACE_LINKS_H

#include "base/hash_map.h"

struct co_trace_links {
    struct co_hash_map map;
    uint64_t last;
};

void co_trace_links_open(struct co_trace_links *links);
void co_trace_links_close(struct co_trace_links *links);

// A handle that a call has just given out: its number, from 1; 0 for the null handle, or without memory.
uint64_t co_trace_links_make(struct co_trace_links *links, uint64_t handle);
// 0: null, or made before the trace began.
uint64_t co_trace_links_find(const struct co_trace_links *links, uint64_t handle);

#endif
