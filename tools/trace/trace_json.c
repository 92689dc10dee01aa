// SPDX-License-Identifier: BSD-3-Clause
//
// The analysis as JSON; docs/columns.md says what the names mean.
#include "trace_output.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/plain_json.h"
#include "tools/output/output_file.h"
#include "tools/trace/read/reader.h"

static json_t *json_published(const struct co_analysis *analysis)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < analysis->published_count; i++) {
        const struct co_published_depth *depth = &analysis->published[i];
        json_array_append_new(rows, json_pack("{s:I, s:f, s:I}", "bins", (json_int_t)depth->bins, "avg",
                                              round(100 * depth->average) / 100, "max", (json_int_t)depth->largest));
    }
    return rows;
}

static json_t *json_matcher(const struct co_replay_matcher *matcher)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "bins",
                     (json_int_t)matcher->bins, "lanes", (json_int_t)matcher->lanes, "bins_used",
                     (json_int_t)matcher->bins_used, "matches", (json_int_t)matcher->matches, "walked_per_match",
                     co_analysis_walked(matcher), "walked_most", (json_int_t)matcher->walked_most, "collisions",
                     (json_int_t)matcher->collisions, "empty_bins", matcher->empty_bins, "blocks",
                     (json_int_t)matcher->blocks, "in_blocks", (json_int_t)matcher->in_blocks, "no_conflict",
                     (json_int_t)matcher->free_path, "fast_path", (json_int_t)matcher->fast_path, "slow_path",
                     (json_int_t)matcher->slow_path, "differences", (json_int_t)matcher->differences);
}

static json_t *json_calls(const struct co_analysis *analysis)
{
    json_t *calls = json_object();
    for (unsigned id = 0; id < CO_CALL_COUNT; id++) {
        if (analysis->calls[id] > 0) {
            json_object_set_new(calls, co_call_rows[id].name, json_integer((json_int_t)analysis->calls[id]));
        }
    }
    return calls;
}

static json_t *json_mix(const struct co_analysis *analysis)
{
    const uint64_t *families = analysis->families;
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "point_to_point", (json_int_t)families[CO_FAMILY_POINT], "collective",
                     (json_int_t)families[CO_FAMILY_COLLECTIVE], "one_sided", (json_int_t)families[CO_FAMILY_ONE_SIDED],
                     "progress", (json_int_t)families[CO_FAMILY_PROGRESS], "other",
                     (json_int_t)families[CO_FAMILY_OTHER]);
}

static json_t *json_moments(const struct co_replay_result *replay)
{
    json_t *rows = json_array();
    for (int i = 0; i < CO_REPLAY_TIMES; i++) {
        json_array_append_new(rows, json_pack("{s:f, s:I, s:I}", "seconds",
                                              (double)replay->span_ns / 1e9 * i / CO_REPLAY_TIMES, "posted",
                                              (json_int_t)replay->moments[i].posted, "unexpected",
                                              (json_int_t)replay->moments[i].unexpected));
    }
    return rows;
}

static json_t *json_talk(const struct co_replay_result *replay)
{
    json_t *rows = json_array();
    for (uint32_t from = 0; from < replay->talk_ranks; from++) {
        json_t *row = json_array();
        for (uint32_t to = 0; to < replay->talk_ranks; to++) {
            json_array_append_new(row, json_integer((json_int_t)replay->talk[from * replay->talk_ranks + to]));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *json_doubt(const struct co_replay_result *replay)
{
    char text[256] = "";
    if (replay->doubted > 0) {
        co_trace_doubt_text(replay, text, sizeof text);
    }
    return json_pack("{s:I, s:s, s:I}", "communicators", (json_int_t)replay->doubted, "first", text,
                     "order_by_messages", (json_int_t)replay->believed);
}

static json_t *json_replay(const struct co_replay_result *replay)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "sends",
        (json_int_t)replay->sends, "receives", (json_int_t)replay->receives, "exact", (json_int_t)replay->by_class[0],
        "any_source", (json_int_t)replay->by_class[1], "any_tag", (json_int_t)replay->by_class[2], "any_both",
        (json_int_t)replay->by_class[3], "probes", (json_int_t)replay->probes, "matches", (json_int_t)replay->matches,
        "unexpected", (json_int_t)replay->unexpected, "sent_outside", (json_int_t)replay->sent_outside, "from_outside",
        (json_int_t)replay->from_outside, "unreceived", (json_int_t)replay->unreceived, "unmatched",
        (json_int_t)replay->unmatched, "otherwise", (json_int_t)replay->otherwise, "forced", (json_int_t)replay->forced,
        "damaged", (json_int_t)replay->damaged, "unique_source_tag", (json_int_t)replay->source_tags, "tags",
        (json_int_t)replay->tags, "posted_depth_avg", replay->posted_mean, "unexpected_depth_avg",
        replay->unexpected_mean);
}

static json_t *json_problems(const struct co_application *application)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < application->rank_count; i++) {
        const struct co_application_rank *rank = &application->ranks[i];
        if (rank->head.note.count > 0) {
            json_array_append_new(rows, json_pack("{s:o, s:i, s:I, s:o}", "file", co_plain_json(rank->trace), "rank",
                                                  rank->rank, "offset", (json_int_t)rank->head.note.offset, "why",
                                                  co_plain_json(rank->head.note.why)));
        }
    }
    return rows;
}

static json_t *json_application(const struct co_application *application)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o}", "traced", (json_int_t)application->rank_count, "size",
                     (json_int_t)application->size, "partial", (json_int_t)application->partial, "missing",
                     (json_int_t)application->missing, "unreadable", (json_int_t)application->lost, "spawned",
                     (json_int_t)application->others, "format",
                     application->rank_count > 0 && application->ranks[0].head.format < CO_FORMATS
                         ? co_reader_format_names[application->ranks[0].head.format]
                         : "none",
                     "problems", json_problems(application));
}

static json_t *json_verdict(const struct co_analysis *analysis)
{
    char text[256];
    co_trace_verdict_text(analysis, text, sizeof text);
    return json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:I}", "verdict", co_trace_verdict_name(analysis->verdict), "text",
                     text, "bins", (json_int_t)analysis->enough_bins, "walked_before", analysis->walked_before,
                     "walked_then", analysis->walked_then, "conflicts", analysis->conflicts, "conflict_lanes",
                     (json_int_t)analysis->conflict_lanes);
}

int co_trace_json_write(const struct co_trace_output *output, const char *path)
{
    const struct co_analysis *analysis = output->analysis;
    json_t *matchers = json_array(), *root = NULL;
    for (size_t i = 0; i < analysis->replay.matcher_count; i++) {
        json_array_append_new(matchers, json_matcher(&analysis->matchers[i]));
    }
    root = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:b, s:o, s:o, s:o}", "ranks",
                     json_application(output->application), "verdict", json_verdict(analysis), "published_depth",
                     json_published(analysis), "replay", json_replay(&analysis->replay), "doubt",
                     json_doubt(&analysis->replay), "matchers", matchers, "posted_depth_max",
                     (json_int_t)analysis->replay.posted_most, "unexpected_depth_max",
                     (json_int_t)analysis->replay.unexpected_most, "mix", json_mix(analysis), "pairing_identical",
                     analysis->is_alike, "calls", json_calls(analysis), "depth_over_time",
                     json_moments(&analysis->replay), "talk", json_talk(&analysis->replay));
    FILE *file = root == NULL ? NULL : co_output_open(path);
    int error = root == NULL ? -ENOMEM : file == NULL ? -errno : 0;
    if (file != NULL) {
        error = json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) != 0 ? -EIO : 0;
        fputc('\n', file);
        int closed = co_output_close(file);
        error = closed != 0 ? closed : error;
    }
    json_decref(root);
    return error;
}
