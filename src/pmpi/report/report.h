// SPDX-License-Identifier: BSD-3-Clause
//
// The report at the end of the job, when CASTOFF_REPORT asks for it: what became of the calls, summed over the ranks.
// Written by rank 0, as text or as JSON. Start and end only.
#ifndef CASTOFF_PMPI_REPORT_H
#define CASTOFF_PMPI_REPORT_H

#include <stdbool.h>

#include "base/counters.h"
#include "pmpi/report/call_counts.h"
#include "pmpi/report/message_counts.h"
#include "pmpi/report/report_sites.h"
#include "pmpi/report/report_trials.h"

struct co_report {
    int ranks_counted, ranks, nodes;
    bool has_started;
    const char *transports; // lines
    const char *proxies;    // how it went with them at rank 0, or why calls found none; "": nothing wanted any
    struct co_call_counts calls[CO_CALL_COUNT];
    struct co_message_counts messages[CO_MESSAGE_CALL_COUNT];
    uint64_t counters[CO_COUNTER_COUNT];
    struct co_report_site_row *sites;
    size_t site_count;
    struct co_trial_row *trials;
    size_t trial_count;
};

// Calls are looked at for a report, or for a line of the log each (CASTOFF_LOG=trace).
bool co_report_is_wanted(void);

// Before the first call that is counted; on all ranks alike where they share co_process.world.
void co_report_open(bool names_sites);

// Collective over co_process.world where there is one: gathers and, on rank 0, writes. Nothing when not asked for.
void co_report_write(bool has_started, const char *transports);

// Of the messages from rank to rank: those that came before their receive; 0: there were none.
static inline double co_report_unexpected_share(const struct co_report *report)
{
    uint64_t sent = report->counters[CO_COUNT_MESSAGES_SENT];
    return sent == 0 ? 0 : (double)report->counters[CO_COUNT_MESSAGES_UNEXPECTED] / (double)sent;
}

// What became of the calls, in one sentence without a full stop.
#define CO_REPORT_VERDICT_BYTES 400
void co_report_verdict(const struct co_report *report, char text[CO_REPORT_VERDICT_BYTES]);

// Text and JSON of a report, to be freed; NULL: no memory.
char *co_report_text(const struct co_report *report);
char *co_report_json(const struct co_report *report);

#endif
