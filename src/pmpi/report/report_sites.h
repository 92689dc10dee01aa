// SPDX-License-Identifier: BSD-3-Clause
//
// Call sites for the report (CASTOFF_REPORT_SITES): from where in the program each call came and what became of it.
// Unwinds the stack at every call, so only when asked for. Any thread.
#ifndef CASTOFF_PMPI_REPORT_SITES_H
#define CASTOFF_PMPI_REPORT_SITES_H

#include <stddef.h>

#include "pmpi/report/call_counts.h"

struct co_report_site_row {
    char place[128]; // "solve+0x2c (program)"
    uint64_t calls;
    enum co_call call;
    enum co_reason reason;
};

// At start. On all ranks alike where they share co_process.world.
void co_report_sites_open(bool is_wanted);

// For each call that is counted, in the thread and below the frames of the call.
void co_report_sites_add(enum co_call call, enum co_reason reason);

// Collective over co_process.world where there is one. Rank 0 gets the rows of all ranks, equal places added up, most
// frequent first, to be freed; the others none. Returns how many.
size_t co_report_sites_gather(struct co_report_site_row **rows);

#endif
