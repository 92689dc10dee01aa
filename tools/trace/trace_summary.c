// SPDX-License-Identifier: BSD-3-Clause
//
// The summary on a terminal: what to do, then why, in a page.
#include "trace_output.h"

#include <inttypes.h>

#include "base/plain_text.h"

const char *co_trace_verdict_name(enum co_analysis_verdict verdict)
{
    static const char *const names[] = {"nothing to match", "no need", "benefits", "little to gain"};
    return names[verdict];
}

void co_trace_verdict_text(const struct co_analysis *analysis, char *text, size_t room)
{
    switch (analysis->verdict) {
    case CO_VERDICT_NOTHING:
        snprintf(text, room, "nothing to match: the trace holds no receive that got a message");
        break;
    case CO_VERDICT_NO_NEED:
        snprintf(text, room,
                 "no need: a match looks at %.2f entries in one list; queues are short, and hashing gains nothing",
                 analysis->walked_before);
        break;
    case CO_VERDICT_BENEFITS:
        snprintf(text, room,
                 "benefits from hashed matching: %" PRIu32 " bins bring a match from %.2f entries to %.2f; "
                 "castoff's grow by themselves where it takes messages (CASTOFF_P2P)",
                 analysis->enough_bins, analysis->walked_before, analysis->walked_then);
        break;
    default:
        snprintf(
            text, room,
            "little to gain: a match looks at %.2f entries, and bins do not change that: the same source and tag, or "
            "wildcards",
            analysis->walked_before);
        break;
    }
}

static double percent(uint64_t part, uint64_t all)
{
    return all == 0 ? 0 : 100.0 * (double)part / (double)all;
}

static void print_ranks(const struct co_application *application, FILE *stream)
{
    fprintf(stream, "ranks      %zu of %" PRId32, application->rank_count, application->size);
    if (application->partial > 0) {
        fprintf(stream, ", %zu of them partial", application->partial);
    }
    if (application->lost > 0) {
        fprintf(stream, ", %zu files could not be read, or do not belong to them", application->lost);
    }
    if (application->others > 0) {
        fprintf(stream, ", %zu of programs that they spawned left out", application->others);
    }
    fprintf(stream, "\n");
}

static void print_calls(const struct co_analysis *analysis, FILE *stream)
{
    const uint64_t *families = analysis->families;
    uint64_t all = families[CO_FAMILY_POINT] + families[CO_FAMILY_COLLECTIVE] + families[CO_FAMILY_ONE_SIDED];
    fprintf(stream,
            "calls      %.1f %% point-to-point, %.1f %% collective, %.1f %% one-sided of %" PRIu64 "; %" PRIu64
            " waits, tests and probes\n",
            percent(families[CO_FAMILY_POINT], all), percent(families[CO_FAMILY_COLLECTIVE], all),
            percent(families[CO_FAMILY_ONE_SIDED], all), all, families[CO_FAMILY_PROGRESS]);
}

static void print_receives(const struct co_replay_result *replay, FILE *stream)
{
    fprintf(stream, "receives   %" PRIu64 ", from any source %.1f %%, any tag %.1f %%, both %.1f %%\n",
            replay->receives, percent(replay->by_class[1], replay->receives),
            percent(replay->by_class[2], replay->receives), percent(replay->by_class[3], replay->receives));
    fprintf(stream,
            "messages   %" PRIu64 ", %.1f %% before their receive; %" PRIu64 " tags, %" PRIu64
            " different (source, tag)\n",
            replay->sends + replay->from_outside, percent(replay->unexpected, replay->sends + replay->from_outside),
            replay->tags, replay->source_tags);
    fprintf(stream, "depth      posted %" PRIu32 " at most, %.2f on average; unexpected %" PRIu32 ", %.2f\n",
            replay->posted_most, replay->posted_mean, replay->unexpected_most, replay->unexpected_mean);
}

static void print_depths(const struct co_analysis *analysis, FILE *stream)
{
    fprintf(stream, "\n%8s %12s %12s %14s %14s %12s\n", "bins", "depth avg", "depth max", "walked/match", "walked most",
            "empty bins");
    for (size_t i = 0; i < analysis->published_count; i++) {
        const struct co_published_depth *depth = &analysis->published[i];
        for (size_t j = 0; j < analysis->replay.matcher_count; j++) {
            const struct co_replay_matcher *matcher = &analysis->matchers[j];
            if (matcher->bins == depth->bins && matcher->lanes == analysis->matchers[0].lanes) {
                fprintf(stream, "%8" PRIu32 " %12.2f %12" PRIu32 " %14.2f %14" PRIu64 " %11.1f%%\n", depth->bins,
                        depth->average, depth->largest, co_analysis_walked(matcher), matcher->walked_most,
                        100 * matcher->empty_bins);
            }
        }
    }
}

static void print_lanes(const struct co_analysis *analysis, FILE *stream)
{
    const struct co_replay_matcher *matchers = analysis->matchers;
    bool has_title = false;
    for (size_t i = 0; i < analysis->replay.matcher_count; i++) {
        if (matchers[i].bins == analysis->enough_bins && matchers[i].in_blocks > 0) {
            if (!has_title) {
                fprintf(stream, "\n%8s %14s %12s %12s %12s    blocks of messages matched at once, %" PRIu32 " bins\n",
                        "lanes", "in blocks", "no conflict", "fast path", "slow path", analysis->enough_bins);
                has_title = true;
            }
            uint64_t all = matchers[i].free_path + matchers[i].fast_path + matchers[i].slow_path;
            fprintf(stream, "%8" PRIu32 " %13.1f%% %11.1f%% %11.1f%% %11.1f%%\n", matchers[i].lanes,
                    percent(matchers[i].in_blocks, all), percent(matchers[i].free_path, all),
                    percent(matchers[i].fast_path, all), percent(matchers[i].slow_path, all));
        }
    }
}

void co_trace_doubt_text(const struct co_replay_result *replay, char *text, size_t room)
{
    static const char *const whys[CO_WHYS] = {
        "the trace does not tell its members, or they are of another job",
        "somebody's share in making it is not in the trace",
        "what its members say does not fit together",
        "no call in the trace made it",
        "MPI told another rank or size than is thought",
        "MPI was allowed to put its ranks in another order, which nobody asked for, and messages do not tell it",
    };
    // Such as MPI_Comm_accept and MPI_Comm_spawn, of which a recording has only what they made.
    const char *call = replay->doubt_call == CO_CALL_NO_CALL ? "one that no recorded call made"
                                                             : co_call_rows[replay->doubt_call].name;
    snprintf(text, room, "rank %" PRId32 ", %s: %s", replay->doubt_rank, call, whys[replay->doubt]);
}

static void print_doubts(const struct co_trace_output *output, FILE *stream)
{
    const struct co_replay_result *replay = &output->analysis->replay;
    if (replay->doubted > 0) {
        char text[256];
        co_trace_doubt_text(replay, text, sizeof text);
        fprintf(stream,
                "partial: %" PRIu64 " times a rank's communicator could not be followed for certain; the first, %s\n",
                replay->doubted, text);
    }
    if (replay->believed > 0) {
        fprintf(stream, "%" PRIu64 " communicators that MPI may have reordered are taken as not: all messages fit\n",
                replay->believed);
    }
    if (replay->damaged > 0) {
        fprintf(stream, "partial: parsed events of %" PRIu64 " ranks changed, or could not be read, meanwhile\n",
                replay->damaged);
    }
    if (replay->from_outside > 0) {
        fprintf(stream, "%" PRIu64 " messages that nobody in the trace sent arrived when their receive was over\n",
                replay->from_outside);
    }
    if (replay->unreceived + replay->unmatched > 0) {
        fprintf(stream, "%" PRIu64 " messages and %" PRIu64 " receives were left over\n", replay->unreceived,
                replay->unmatched);
    }
    if (replay->otherwise > 0) {
        fprintf(stream, "%" PRIu64 " receives from anybody got another message than in the trace\n", replay->otherwise);
    }
    if (replay->forced > 0) {
        fprintf(stream, "%" PRIu64 " times no rank could go on, and one went on without\n", replay->forced);
    }
}

void co_trace_summary_print(const struct co_trace_output *output, FILE *stream)
{
    const struct co_analysis *analysis = output->analysis;
    char verdict[256];
    co_trace_verdict_text(analysis, verdict, sizeof verdict);
    co_plain_put(stream, output->name);
    fprintf(stream, ": %s\n\n", verdict);
    print_ranks(output->application, stream);
    print_calls(analysis, stream);
    print_receives(&analysis->replay, stream);
    print_depths(analysis, stream);
    print_lanes(analysis, stream);
    fprintf(stream, "\npairing    %s\n",
            analysis->is_alike ? "the same with every number of bins and lanes" : "NOT the same: please report this");
    print_doubts(output, stream);
}
