// SPDX-License-Identifier: BSD-3-Clause
//
// From the paths on the command line to an analysis, with complaints and a progress bar on standard error. Cold.
#ifndef CASTOFF_TOOLS_TRACE_RUN_H
#define CASTOFF_TOOLS_TRACE_RUN_H

#include <stdbool.h>

#include "number_list.h"
#include "tools/output/scratch.h"
#include "tools/trace/analyze/analysis.h"
#include "trace_archive.h"

struct co_trace_run_options {
    struct co_number_list bins, lanes;
    const char *cache;
    bool has_no_cache;
};

struct co_trace_run {
    struct co_scratch scratch;
    struct co_trace_archive archive;
    struct co_application application;
    struct co_analysis analysis;
    bool is_open, is_analyzed;
};

// The exit status: what was lost makes it TOOL_FAILED, and the rest is there all the same.
int co_trace_run_open(struct co_trace_run *run, const struct co_trace_run_options *options, char **paths,
                      size_t path_count);
void co_trace_run_close(struct co_trace_run *run);

#endif
