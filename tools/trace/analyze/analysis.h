// SPDX-License-Identifier: BSD-3-Clause
//
// All that is found out about an application, and what follows from it. One thread.
#ifndef CASTOFF_TOOLS_TRACE_ANALYZE_ANALYSIS_H
#define CASTOFF_TOOLS_TRACE_ANALYZE_ANALYSIS_H

#include "tools/trace/events/application.h"
#include "tools/trace/analyze/published.h"
#include "tools/trace/replay/replay.h"

struct co_analysis_config {
    const uint32_t *bins, *lanes; // each at least 1
    size_t bins_count, lanes_count;
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *arg;
};

enum co_analysis_verdict {
    CO_VERDICT_NOTHING,  // no receive to match
    CO_VERDICT_NO_NEED,  // queues are short: nothing to gain
    CO_VERDICT_BENEFITS, // from hashing, with that many bins
    CO_VERDICT_LITTLE    // long searches, but bins do not shorten them
};

struct co_analysis {
    struct co_published_depth *published; // by bins
    size_t published_count;
    struct co_replay_matcher *matchers; // by bins, then lanes
    struct co_replay_result replay;
    uint64_t calls[CO_CALL_COUNT], families[CO_FAMILIES];
    bool is_alike; // all matchers pair as the lists do
    enum co_analysis_verdict verdict;
    // The fewest bins, of those asked for, with which a search looks at hardly more than one entry; what it looks at
    // then, and with one bin, or the fewest asked for.
    uint32_t enough_bins;
    double walked_before, walked_then;
    double
        conflicts; // share of messages in blocks of the most lanes that another lane was in the way of; -1: no blocks
    uint32_t conflict_lanes;
};

int co_analysis_run(struct co_analysis *analysis, const struct co_application *application,
                    const struct co_analysis_config *config);
void co_analysis_close(struct co_analysis *analysis);

// What a message's match costs: entries looked at. 0: none.
double co_analysis_walked(const struct co_replay_matcher *matcher);

#endif
