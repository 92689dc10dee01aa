// SPDX-License-Identifier: BSD-3-Clause
//
// castoff's own traces as they are: a table of the calls, or each of them. Cold.
#ifndef CASTOFF_TOOLS_TRACE_CALLS_H
#define CASTOFF_TOOLS_TRACE_CALLS_H

#include <stdbool.h>

// The exit status.
int co_trace_calls(char **paths, int path_count, bool prints, bool shows_times);
// As docs/trace-format.md has them.
void co_trace_calls_print_kinds(void);

#endif
