// SPDX-License-Identifier: BSD-3-Clause
//
// The report for people: a verdict in one sentence, calls that were made with their reasons and times, counters for
// users that moved, settings that differ from the default. End only.
#define _GNU_SOURCE
#include "pmpi/report/report.h"

#include "base/plain_text.h"
#include "base/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_times(FILE *out, const char *what, const uint64_t steps[CO_LATENCY_STEPS])
{
    uint64_t most = co_latency_percentile(steps, 1);
    if (most > 0) {
        fprintf(out, "      %-8s p50 %.1f us, p90 %.1f us, p99 %.1f us, longest %.1f us\n", what,
                (double)co_latency_percentile(steps, 0.5) / 1e3, (double)co_latency_percentile(steps, 0.9) / 1e3,
                (double)co_latency_percentile(steps, 0.99) / 1e3, (double)most / 1e3);
    }
}

static void print_call(FILE *out, enum co_call call, const struct co_call_counts *counts)
{
    fprintf(out,
            "  %-14s seen %" PRIu64 ", taken %" PRIu64 ", failed %" PRIu64 "; bytes %" PRIu64 ", taken %" PRIu64 "\n",
            co_call_text(call), counts->seen, counts->by_reason[CO_TAKE], counts->failed, counts->bytes_seen,
            counts->bytes_taken);
    for (int reason = CO_TAKE + 1; reason < CO_REASON_COUNT; reason++) {
        if (counts->by_reason[reason] > 0) {
            fprintf(out, "      declined %" PRIu64 ": %s\n", counts->by_reason[reason],
                    co_reason_text((enum co_reason)reason));
        }
    }
    print_times(out, "taken", counts->taken_in);
    print_times(out, "declined", counts->declined_in);
}

static void print_calls(FILE *out, const struct co_report *report)
{
    const char *heading = "calls of all ranks (bytes: Bcast the message, Allgather one block)\n";
    for (int call = 0; call < CO_CALL_COUNT; call++) {
        if (report->calls[call].seen > 0) {
            fputs(heading, out);
            print_call(out, (enum co_call)call, &report->calls[call]);
            heading = "";
        }
    }
}

static void print_message_call(FILE *out, enum co_message_call call, const struct co_message_counts *counts)
{
    fprintf(out, "  %-14s taken %" PRIu64 "; bytes %" PRIu64 "\n", co_message_call_text(call),
            counts->by_reason[CO_TAKE], counts->bytes_taken);
    for (int reason = CO_TAKE + 1; reason < CO_REASON_COUNT; reason++) {
        if (counts->by_reason[reason] > 0) {
            fprintf(out, "      declined %" PRIu64 ": %s\n", counts->by_reason[reason],
                    co_reason_text((enum co_reason)reason));
        }
    }
}

static uint64_t times_called(const struct co_message_counts *counts)
{
    uint64_t all = 0;
    for (int reason = 0; reason < CO_REASON_COUNT; reason++) {
        all += counts->by_reason[reason];
    }
    return all;
}

static void print_messages(FILE *out, const struct co_report *report)
{
    const char *heading = "messages from rank to rank, calls of all ranks (bytes: sent, or room to receive)\n";
    uint64_t sent = report->counters[CO_COUNT_MESSAGES_SENT], all = 0;
    for (int call = 0; call < CO_MESSAGE_CALL_COUNT; call++) {
        all += times_called(&report->messages[call]);
    }
    if (all > 0 && co_setting_number(CO_SET_P2P) == CO_NO) {
        fprintf(out,
                "messages from rank to rank: %" PRIu64 " calls of all ranks, left to the MPI below (CASTOFF_P2P=no)\n",
                all);
        return;
    }
    for (int call = 0; call < CO_MESSAGE_CALL_COUNT; call++) {
        if (times_called(&report->messages[call]) > 0) {
            fputs(heading, out);
            print_message_call(out, (enum co_message_call)call, &report->messages[call]);
            heading = "";
        }
    }
    if (sent > 0) {
        fprintf(out, "  %.1f %% of the messages came before their receive\n", 100 * co_report_unexpected_share(report));
    }
}

static void print_counters(FILE *out, const struct co_report *report)
{
    const char *heading = "counters\n";
    int others = 0;
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        const struct co_counter_row *row = co_counter_row((enum co_counter_id)i);
        others += row->tier == CO_COUNTER_EXPERT && report->counters[i] > 0;
        if (row->tier == CO_COUNTER_USER && report->counters[i] > 0) {
            fprintf(out, "%s  %-36s %14" PRIu64 " %s (%s)\n", heading, row->name, report->counters[i], row->unit,
                    row->help);
            heading = "";
        }
    }
    if (others > 0) {
        fprintf(out, "%s  %d more have moved: a report in a file whose name ends in .json has all\n", heading, others);
    }
}

static void print_settings(FILE *out)
{
    const char *heading = "settings that differ from the default\n";
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        if (!co_setting_is_default((enum co_setting_id)i)) {
            fprintf(out, "%s  %s=", heading, co_setting_row((enum co_setting_id)i)->name);
            co_plain_put(out, co_setting_text((enum co_setting_id)i));
            fputc('\n', out);
            heading = "";
        }
    }
}

static void print_trials(FILE *out, const struct co_report *report)
{
    const char *heading =
        "which side is faster, as trials in the job found (CASTOFF_ADAPT): of the last communicator\n";
    for (size_t i = 0; i < report->trial_count; i++) {
        const struct co_trial_row *row = &report->trials[i];
        fprintf(out, "%s  %-14s %10" PRIu64 " B, %d ranks on %d node%s: %" PRIu64 " calls; ", heading,
                co_call_text((enum co_call)row->call), row->bytes, row->ranks, row->nodes, row->nodes == 1 ? "" : "s",
                row->calls);
        heading = "";
        if (row->first_at == 0) {
            fprintf(out, "no verdict yet\n");
            continue;
        }
        fprintf(out,
                "native %.1f us, castoff %.1f us: %s%s from call %" PRIu64 " on; gained %.1f us, trials cost %.1f us\n",
                (double)row->native_ns / 1e3, (double)row->castoff_ns / 1e3, row->takes ? "taken" : "declined",
                row->takes == row->would_take ? " as before" : "", row->first_at, (double)row->gained_ns / 1e3,
                (double)row->excess_ns / 1e3);
    }
}

static void print_sites(FILE *out, const struct co_report *report)
{
    if (report->site_count > 0) {
        fputs("call sites\n", out);
    }
    for (size_t i = 0; i < report->site_count; i++) {
        const struct co_report_site_row *row = &report->sites[i];
        fprintf(out, "  %-14s %10" PRIu64 " %s at ", co_call_text(row->call), row->calls, co_reason_text(row->reason));
        co_plain_put(out, row->place);
        fputc('\n', out);
    }
}

char *co_report_text(const struct co_report *report)
{
    char *text = NULL, verdict[CO_REPORT_VERDICT_BYTES];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    co_report_verdict(report, verdict);
    fprintf(out, "%s\n", verdict);
    fprintf(out, "castoff report: %d rank%s on %d node%s, %s", report->ranks, report->ranks == 1 ? "" : "s",
            report->nodes, report->nodes == 1 ? "" : "s", report->has_started ? "served" : "all native");
    if (report->ranks_counted < report->ranks) {
        fprintf(out, "; counted on %d of them only", report->ranks_counted);
    }
    fputc('\n', out);
    co_plain_put_lines(out, report->transports);
    if (report->proxies[0] != '\0') {
        fputs("proxies: ", out);
        co_plain_put(out, report->proxies);
        fputc('\n', out);
    }
    print_calls(out, report);
    print_messages(out, report);
    print_trials(out, report);
    print_sites(out, report);
    print_counters(out, report);
    print_settings(out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
