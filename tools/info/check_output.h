// SPDX-License-Identifier: BSD-3-Clause
//
// What the job of `castoff info --check` has written: times of broadcasts on standard output, castoff's report, or why
// castoff was off, on standard error. The texts are taken apart. Pure but for memory. Cold.
#ifndef CASTOFF_TOOLS_INFO_CHECK_OUTPUT_H
#define CASTOFF_TOOLS_INFO_CHECK_OUTPUT_H

#include <stdbool.h>

#include "check_verdict.h"

// Fills the times, and since when multicast has stopped. False: bytes were wrong.
bool co_check_read_rows(struct co_check_result *result, char *text);

// Behind the former: fills whether there was multicast, or why not, and what had to be sent again. Where that is
// little, multicast has not stopped.
void co_check_read_report(struct co_check_result *result, char *text);

#endif
