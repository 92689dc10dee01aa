// SPDX-License-Identifier: BSD-3-Clause
//
// Sums over the traces of each side, and their table. Cold.
#define _GNU_SOURCE // qsort_r
#include "ab_calls.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "record/trace/trace_file.h"

enum { ROWS_MOST = 10 }; // of the table; the rest is one row

static void add_records(struct co_ab_calls *calls, enum co_ab_side side, struct co_trace_file *file)
{
    const struct co_trace_record *record;
    while ((record = co_trace_file_next(file)) != NULL) {
        const struct co_trace_row *row = co_trace_row(record->kind);
        if (row->family == CO_TRACE_FAMILY_MARK || (record->flags & (CO_TRACE_NESTED | CO_TRACE_CONTINUED)) != 0 ||
            record->is_unfinished) {
            continue;
        }
        struct co_ab_call *call = &calls->of[record->kind];
        call->name = row->name;
        call->calls[side] += record->times;
        call->ns[side] += record->end_ns - record->begin_ns;
    }
}

void co_ab_calls_read(struct co_ab_calls *calls, enum co_ab_side side, const char *folder)
{
    struct co_trace_file file;
    char path[PATH_MAX], why[CO_TRACE_WHY_MAX];
    DIR *entries = opendir(folder);
    for (struct dirent *entry = entries ? readdir(entries) : NULL; entry; entry = readdir(entries)) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        // Programs that the job has spawned have ranks of their own.
        if (strncmp(entry->d_name, "rank-", 5) == 0 && co_trace_file_open(&file, path, why) == 0) {
            calls->traces[side]++;
            calls->ranks = file.header.size;
            add_records(calls, side, &file);
            co_trace_file_close(&file);
        }
    }
    if (entries) {
        closedir(entries);
    }
}

static double of_rank(const struct co_ab_calls *calls, enum co_ab_side side, uint64_t sum)
{
    return calls->traces[side] > 0 ? (double)sum / calls->traces[side] : 0;
}

static double seconds(const struct co_ab_calls *calls, const struct co_ab_call *call, enum co_ab_side side)
{
    return of_rank(calls, side, call->ns[side]) * 1e-9;
}

static double gained(const struct co_ab_calls *calls, const struct co_ab_call *call)
{
    return seconds(calls, call, AB_WITHOUT) - seconds(calls, call, AB_WITH);
}

static bool is_used(const struct co_ab_call *call)
{
    return call->calls[AB_WITHOUT] + call->calls[AB_WITH] > 0;
}

static int by_gain(const void *left, const void *right, void *calls)
{
    double difference = gained(calls, right) - gained(calls, left);
    return (difference > 0) - (difference < 0);
}

void co_ab_calls_sort(struct co_ab_calls *calls)
{
    qsort_r(calls->of, CO_TRACE_KIND_COUNT, sizeof calls->of[0], by_gain, calls);
}

// The calls of the table: those whose time differs most, in either direction, which stand at both ends.
static void choose(const struct co_ab_calls *calls, bool is_shown[CO_TRACE_KIND_COUNT])
{
    int first = 0, last = CO_TRACE_KIND_COUNT - 1;
    for (int shown = 0; shown < ROWS_MOST && first <= last; shown++) {
        int most = gained(calls, &calls->of[first]) >= -gained(calls, &calls->of[last]) ? first++ : last--;
        is_shown[most] = is_used(&calls->of[most]);
    }
}

static void print_row(const struct co_ab_calls *calls, const struct co_ab_call *call, FILE *stream)
{
    fprintf(stream, "%-26s %10.0f %11.4f %11.4f %11.4f", call->name, of_rank(calls, AB_WITH, call->calls[AB_WITH]),
            seconds(calls, call, AB_WITHOUT), seconds(calls, call, AB_WITH), gained(calls, call));
    // Of tests and probes there are as many as it takes: nothing is gained by each.
    if (calls->traces[AB_WITHOUT] == calls->traces[AB_WITH] && call->calls[AB_WITHOUT] == call->calls[AB_WITH]) {
        fprintf(stream, " %11.1f\n", gained(calls, call) * 1e6 / of_rank(calls, AB_WITH, call->calls[AB_WITH]));
    } else {
        fprintf(stream, " %11s\n", "-");
    }
}

static void print_sum(const char *name, double without, double with, FILE *stream)
{
    fprintf(stream, "%-26s %10s %11.4f %11.4f %11.4f %11s\n", name, "-", without, with, without - with, "-");
}

void co_ab_calls_print(const struct co_ab_calls *calls, FILE *stream)
{
    bool is_shown[CO_TRACE_KIND_COUNT] = {false};
    double others[AB_SIDES] = {0}, all[AB_SIDES] = {0};
    int left = 0;
    choose(calls, is_shown);
    fprintf(stream,
            "# which calls gained it: one more run of each side with its calls timed; a rank's mean, of %u of %" PRIu32
            " ranks\n",
            calls->traces[AB_WITH], calls->ranks);
    fprintf(stream, "# %-24s %10s %11s %11s %11s %11s\n", "call", "calls", "without s", "with s", "gained s",
            "us a call");
    for (int i = 0; i < CO_TRACE_KIND_COUNT; i++) {
        const struct co_ab_call *call = &calls->of[i];
        for (int side = 0; side < AB_SIDES; side++) {
            all[side] += seconds(calls, call, side);
            others[side] += is_shown[i] ? 0 : seconds(calls, call, side);
        }
        if (is_shown[i]) {
            print_row(calls, call, stream);
        }
        left += !is_shown[i] && is_used(call);
    }
    if (left > 0) {
        print_sum("other_calls", others[AB_WITHOUT], others[AB_WITH], stream);
    }
    print_sum("outside_MPI", (double)calls->elapsed_ns[AB_WITHOUT] * 1e-9 - all[AB_WITHOUT],
              (double)calls->elapsed_ns[AB_WITH] * 1e-9 - all[AB_WITH], stream);
}

json_t *co_ab_calls_json(const struct co_ab_calls *calls)
{
    json_t *rows = json_array();
    for (int i = 0; i < CO_TRACE_KIND_COUNT; i++) {
        const struct co_ab_call *call = &calls->of[i];
        if (is_used(call)) {
            json_array_append_new(rows,
                                  json_pack("{s:s, s:f, s:f, s:f, s:f}", "call", call->name, "calls_without",
                                            of_rank(calls, AB_WITHOUT, call->calls[AB_WITHOUT]), "calls_with",
                                            of_rank(calls, AB_WITH, call->calls[AB_WITH]), "without_s",
                                            seconds(calls, call, AB_WITHOUT), "with_s", seconds(calls, call, AB_WITH)));
        }
    }
    return rows;
}
