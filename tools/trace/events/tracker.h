// SPDX-License-Identifier: BSD-3-Clause
//
// From a rank's calls to its events: which receive a request stands for, what a wait has completed (and not what it was
// only asked about), persistent requests, groups. Fed with the calls in the order of the trace. One thread; hot.
#ifndef CASTOFF_TOOLS_TRACE_EVENTS_TRACKER_H
#define CASTOFF_TOOLS_TRACE_EVENTS_TRACKER_H

#include "base/hash_map.h"
#include "tools/trace/events/event_file.h"

struct co_tracker {
    struct co_event_writer *writer;
    struct co_hash_map requests; // number to struct tracked: receives that are under way, and persistent ones
    struct co_hash_map groups;   // number to struct co_tracked_group
    struct co_hash_map grids;    // number of a communicator to its lengths
    struct co_hash_map made;     // numbers of communicators that were made
    uint64_t begin_ns;
    bool has_begun, has_ended;
    uint64_t unknown_requests; // that a wait completed and nothing had made
    bool is_out_of_memory;
};

void co_tracker_open(struct co_tracker *tracker, struct co_event_writer *writer);
void co_tracker_close(struct co_tracker *tracker);
void co_tracker_add(struct co_tracker *tracker, const struct co_traced_call *call);

#endif
