// SPDX-License-Identifier: BSD-3-Clause
//
// castoff trace compare: two applications, or two runs of one, side by side. Cold.
#ifndef CASTOFF_TOOLS_TRACE_COMPARE_H
#define CASTOFF_TOOLS_TRACE_COMPARE_H

#include "trace_run.h"

// The exit status.
int co_trace_compare(const struct co_trace_run_options *options, char **paths, int path_count);

#endif
