// SPDX-License-Identifier: BSD-3-Clause
//
// Two analyses in one table.
#include "trace_compare.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/plain_text.h"
#include "tools/launch/command.h"
#include "trace_output.h"

static void row(const char *what, double left, double right, int digits)
{
    char change[32] = "";
    if (left > 0 && right > 0) {
        snprintf(change, sizeof change, "%.2f x", right / left);
    }
    printf("%-34s %16.*f %16.*f %12s\n", what, digits, left, digits, right, left != right ? change : "=");
}

static void count_row(const char *what, uint64_t left, uint64_t right)
{
    row(what, (double)left, (double)right, 0);
}

static double share(uint64_t part, uint64_t all)
{
    return all == 0 ? 0 : 100.0 * (double)part / (double)all;
}

static void print_messages(const struct co_replay_result *left, const struct co_replay_result *right)
{
    count_row("receives", left->receives, right->receives);
    row("  from any source, %", share(left->by_class[1] + left->by_class[3], left->receives),
        share(right->by_class[1] + right->by_class[3], right->receives), 2);
    row("  of any tag, %", share(left->by_class[2] + left->by_class[3], left->receives),
        share(right->by_class[2] + right->by_class[3], right->receives), 2);
    count_row("messages", left->sends + left->from_outside, right->sends + right->from_outside);
    row("  before their receive, %", share(left->unexpected, left->sends + left->from_outside),
        share(right->unexpected, right->sends + right->from_outside), 2);
    count_row("tags", left->tags, right->tags);
    count_row("posted depth, most", left->posted_most, right->posted_most);
    count_row("unexpected depth, most", left->unexpected_most, right->unexpected_most);
}

static void print_bins(const struct co_analysis *left, const struct co_analysis *right)
{
    char what[64];
    for (size_t i = 0; i < left->published_count; i++) {
        snprintf(what, sizeof what, "depth avg, %" PRIu32 " bins", left->published[i].bins);
        row(what, left->published[i].average, right->published[i].average, 2);
    }
    for (size_t i = 0; i < left->replay.matcher_count; i++) {
        const struct co_replay_matcher *matcher = &left->matchers[i];
        snprintf(what, sizeof what, "walked/match, %" PRIu32 " bins, %" PRIu32 " lanes", matcher->bins, matcher->lanes);
        row(what, co_analysis_walked(matcher), co_analysis_walked(&right->matchers[i]), 2);
    }
}

static void print_verdict(const char *name, const struct co_analysis *analysis)
{
    char text[256];
    co_trace_verdict_text(analysis, text, sizeof text);
    co_plain_put(stdout, name);
    printf(": %s\n", text);
}

static void print(char **paths, const struct co_trace_run *left, const struct co_trace_run *right)
{
    print_verdict(paths[0], &left->analysis);
    print_verdict(paths[1], &right->analysis);
    printf("\n%-34s %16s %16s %12s\n", "", "A", "B", "B/A");
    count_row("ranks", left->application.rank_count, right->application.rank_count);
    for (int family = 0; family < CO_FAMILIES; family++) {
        static const char *const names[] = {"point-to-point calls", "collective calls", "one-sided calls",
                                            "waits, tests, probes", "other calls"};
        count_row(names[family], left->analysis.families[family], right->analysis.families[family]);
    }
    print_messages(&left->analysis.replay, &right->analysis.replay);
    print_bins(&left->analysis, &right->analysis);
}

int co_trace_compare(const struct co_trace_run_options *options, char **paths, int path_count)
{
    struct co_trace_run runs[2];
    if (path_count != 2) {
        co_command_complain(&co_command_trace, "compare takes two applications");
        return TOOL_USAGE;
    }
    int left = co_trace_run_open(&runs[0], options, &paths[0], 1);
    int right = co_trace_run_open(&runs[1], options, &paths[1], 1);
    if (runs[0].is_analyzed && runs[1].is_analyzed) {
        print(paths, &runs[0], &runs[1]);
    }
    co_trace_run_close(&runs[0]);
    co_trace_run_close(&runs[1]);
    return left != TOOL_OK ? left : right;
}
