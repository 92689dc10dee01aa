// SPDX-License-Identifier: BSD-3-Clause
//
// What castoff trace says of an analyzed application: for a reader in a hurry, for programs, as tables and as plots.
// Cold.
#ifndef CASTOFF_TOOLS_TRACE_OUTPUT_H
#define CASTOFF_TOOLS_TRACE_OUTPUT_H

#include "tools/trace/analyze/analysis.h"

#include <stdio.h>

struct co_trace_output {
    const char *name; // of the application: where it came from
    const struct co_application *application;
    const struct co_analysis *analysis;
};

// The verdict first.
void co_trace_summary_print(const struct co_trace_output *output, FILE *stream);
const char *co_trace_verdict_name(enum co_analysis_verdict verdict);
// A sentence or two.
void co_trace_verdict_text(const struct co_analysis *analysis, char *text, size_t room);

// Of the first communicator in doubt, where there is one.
void co_trace_doubt_text(const struct co_replay_result *replay, char *text, size_t room);

// 0 or -errno.
int co_trace_json_write(const struct co_trace_output *output, const char *path);
// calls.csv, depth.csv, matchers.csv, moments.csv, talk.csv in a directory, which is made where its parent is there.
int co_trace_csv_write(const struct co_trace_output *output, const char *directory);
// calls, depth, moments and talk as .svg and .png. 0; -ENOENT: there is no gnuplot; -errno. `why` gets a sentence.
int co_trace_plots_write(const struct co_trace_output *output, const char *directory, char *why, size_t room);

#endif
