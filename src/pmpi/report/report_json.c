// SPDX-License-Identifier: BSD-3-Clause
//
// The report for programs. Keys once given keep their meaning: tools and users' scripts read them. End only.
#include "pmpi/report/report.h"

#include "base/plain_json.h"
#include "base/settings.h"

#include <jansson.h>

// Raised when a key changes its meaning or goes; new keys alone do not raise it.
#define FORMAT 1

// Times of up to years in microseconds keep their nanoseconds, and 7.167 does not become 7.1669999999999998.
enum { DIGITS = 15 };

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *times_of(const uint64_t steps[CO_LATENCY_STEPS])
{
    static const struct {
        const char *name;
        double share;
    } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"longest", 1}};
    json_t *times = json_object();
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        json_object_set_new(times, points[i].name,
                            json_real((double)co_latency_percentile(steps, points[i].share) / 1e3));
    }
    return times;
}

static json_t *call_of(const struct co_call_counts *counts)
{
    json_t *call = json_object(), *declined = json_object();
    for (int reason = CO_TAKE + 1; reason < CO_REASON_COUNT; reason++) {
        if (counts->by_reason[reason] > 0) {
            json_object_set_new(declined, co_reason_text((enum co_reason)reason), number(counts->by_reason[reason]));
        }
    }
    json_object_set_new(call, "seen", number(counts->seen));
    json_object_set_new(call, "taken", number(counts->by_reason[CO_TAKE]));
    json_object_set_new(call, "failed", number(counts->failed));
    json_object_set_new(call, "declined", declined);
    json_object_set_new(call, "bytes_seen", number(counts->bytes_seen));
    json_object_set_new(call, "bytes_taken", number(counts->bytes_taken));
    json_object_set_new(call, "taken_us", times_of(counts->taken_in));
    json_object_set_new(call, "declined_us", times_of(counts->declined_in));
    return call;
}

static json_t *message_call_of(const struct co_message_counts *counts)
{
    json_t *call = json_object(), *declined = json_object();
    uint64_t seen = counts->by_reason[CO_TAKE];
    for (int reason = CO_TAKE + 1; reason < CO_REASON_COUNT; reason++) {
        seen += counts->by_reason[reason];
        if (counts->by_reason[reason] > 0) {
            json_object_set_new(declined, co_reason_text((enum co_reason)reason), number(counts->by_reason[reason]));
        }
    }
    json_object_set_new(call, "seen", number(seen));
    json_object_set_new(call, "taken", number(counts->by_reason[CO_TAKE]));
    json_object_set_new(call, "declined", declined);
    json_object_set_new(call, "bytes_taken", number(counts->bytes_taken));
    return call;
}

static json_t *calls_of(const struct co_report *report)
{
    json_t *calls = json_object();
    for (int call = 0; call < CO_CALL_COUNT; call++) {
        json_object_set_new(calls, co_call_text((enum co_call)call), call_of(&report->calls[call]));
    }
    for (int call = 0; call < CO_MESSAGE_CALL_COUNT; call++) {
        json_object_set_new(calls, co_message_call_text((enum co_message_call)call),
                            message_call_of(&report->messages[call]));
    }
    return calls;
}

static json_t *counters_of(const struct co_report *report)
{
    json_t *counters = json_object();
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        json_object_set_new(counters, co_counter_row((enum co_counter_id)i)->name, number(report->counters[i]));
    }
    return counters;
}

static json_t *settings_of(void)
{
    json_t *settings = json_object();
    for (int i = 0; i < CO_SETTING_COUNT; i++) {
        if (!co_setting_is_default((enum co_setting_id)i)) {
            json_object_set_new(settings, co_setting_row((enum co_setting_id)i)->name,
                                co_plain_json(co_setting_text((enum co_setting_id)i)));
        }
    }
    return settings;
}

static json_t *sites_of(const struct co_report *report)
{
    json_t *sites = json_array();
    for (size_t i = 0; i < report->site_count; i++) {
        const struct co_report_site_row *row = &report->sites[i];
        json_t *site = json_object();
        json_object_set_new(site, "call", json_string(co_call_text(row->call)));
        json_object_set_new(site, "place", co_plain_json(row->place));
        json_object_set_new(site, "outcome", json_string(co_reason_text(row->reason)));
        json_object_set_new(site, "calls", number(row->calls));
        json_array_append_new(sites, site);
    }
    return sites;
}

static json_t *trials_of(const struct co_report *report)
{
    json_t *trials = json_array();
    for (size_t i = 0; i < report->trial_count; i++) {
        const struct co_trial_row *row = &report->trials[i];
        json_t *trial = json_object();
        json_object_set_new(trial, "call", json_string(co_call_text((enum co_call)row->call)));
        json_object_set_new(trial, "bytes", number(row->bytes));
        json_object_set_new(trial, "ranks", json_integer(row->ranks));
        json_object_set_new(trial, "nodes", json_integer(row->nodes));
        json_object_set_new(trial, "communicators", number(row->teams));
        json_object_set_new(trial, "calls", number(row->calls));
        json_object_set_new(trial, "first_verdict", number(row->first_at));
        json_object_set_new(trial, "changes", number(row->changes));
        json_object_set_new(trial, "taken", json_boolean(row->takes != 0));
        json_object_set_new(trial, "would_be_taken", json_boolean(row->would_take != 0));
        json_object_set_new(trial, "native_us", json_real((double)row->native_ns / 1e3));
        json_object_set_new(trial, "castoff_us", json_real((double)row->castoff_ns / 1e3));
        json_object_set_new(trial, "gained_us", json_real((double)row->gained_ns / 1e3));
        json_object_set_new(trial, "cost_us", json_real((double)row->excess_ns / 1e3));
        json_array_append_new(trials, trial);
    }
    return trials;
}

char *co_report_json(const struct co_report *report)
{
    json_t *root = json_object();
    char verdict[CO_REPORT_VERDICT_BYTES];
    co_report_verdict(report, verdict);
    json_object_set_new(root, "verdict", json_string(verdict));
    json_object_set_new(root, "format", json_integer(FORMAT));
    json_object_set_new(root, "ranks", json_integer(report->ranks));
    json_object_set_new(root, "ranks_counted", json_integer(report->ranks_counted));
    json_object_set_new(root, "nodes", json_integer(report->nodes));
    json_object_set_new(root, "started", json_boolean(report->has_started));
    json_object_set_new(root, "transports", co_plain_json(report->transports));
    json_object_set_new(root, "proxies", co_plain_json(report->proxies));
    json_object_set_new(root, "calls", calls_of(report));
    json_object_set_new(root, "messages_unexpected_share", json_real(co_report_unexpected_share(report)));
    json_object_set_new(root, "trials", trials_of(report));
    json_object_set_new(root, "sites", sites_of(report));
    json_object_set_new(root, "counters", counters_of(report));
    json_object_set_new(root, "settings", settings_of());
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    json_decref(root);
    return text;
}
