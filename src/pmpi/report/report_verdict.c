// SPDX-License-Identifier: BSD-3-Clause
//
// The report in one sentence: what was taken, what was declined most and why, and what trials found it to be worth. End
// only.
#include "pmpi/report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct most_declined {
    uint64_t times;
    const char *call, *reason;
};

struct share {
    uint64_t seen, taken;
};

// Adds one kind of call to its share, and keeps what was declined most.
static void share_add(struct share *share, struct most_declined *most, const char *call,
                      const uint64_t by_reason[CO_REASON_COUNT])
{
    for (int reason = 0; reason < CO_REASON_COUNT; reason++) {
        share->seen += by_reason[reason];
        if (reason != CO_TAKE && by_reason[reason] > most->times) {
            *most = (struct most_declined){by_reason[reason], call, co_reason_text((enum co_reason)reason)};
        }
    }
    share->taken += by_reason[CO_TAKE];
}

static void text_add(char text[CO_REPORT_VERDICT_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void text_add(char text[CO_REPORT_VERDICT_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, CO_REPORT_VERDICT_BYTES - used, format, arguments);
    va_end(arguments);
}

static uint64_t gained_ns(const struct co_report *report)
{
    uint64_t gained = 0;
    for (size_t i = 0; i < report->trial_count; i++) {
        gained += report->trials[i].gained_ns;
    }
    return gained;
}

void co_report_verdict(const struct co_report *report, char text[CO_REPORT_VERDICT_BYTES])
{
    struct share collectives = {0}, messages = {0};
    struct most_declined most = {0};
    text[0] = '\0';
    for (int call = 0; call < CO_CALL_COUNT; call++) {
        share_add(&collectives, &most, co_call_text((enum co_call)call), report->calls[call].by_reason);
    }
    for (int call = 0; call < CO_MESSAGE_CALL_COUNT; call++) {
        share_add(&messages, &most, co_message_call_text((enum co_message_call)call), report->messages[call].by_reason);
    }
    if (collectives.seen + messages.seen == 0) {
        text_add(text, "castoff saw no call that it serves");
        return;
    }
    text_add(text, "castoff took %" PRIu64 " of %" PRIu64 " collective calls", collectives.taken, collectives.seen);
    if (messages.seen > 0) {
        text_add(text, " and %" PRIu64 " of %" PRIu64 " calls for messages", messages.taken, messages.seen);
    }
    if (most.times > 0) {
        text_add(text, "; declined most: %s, %" PRIu64 " times, %s", most.call, most.times, most.reason);
    }
    if (gained_ns(report) > 0) {
        text_add(text, "; by its trials that gained %.1f ms", (double)gained_ns(report) / 1e6);
    }
}
