// SPDX-License-Identifier: BSD-3-Clause
//
// The analysis as tables, one file each.
#include "trace_output.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "tools/output/output_file.h"

static void write_calls(const struct co_trace_output *output, FILE *file)
{
    static const char *const families[] = {"point-to-point", "collective", "one-sided", "progress", "other"};
    fprintf(file, "call,family,calls\n");
    for (unsigned id = 0; id < CO_CALL_COUNT; id++) {
        if (output->analysis->calls[id] > 0) {
            fprintf(file, "%s,%s,%" PRIu64 "\n", co_call_rows[id].name, families[co_call_rows[id].family],
                    output->analysis->calls[id]);
        }
    }
}

static void write_depth(const struct co_trace_output *output, FILE *file)
{
    fprintf(file, "bins,avg,max\n");
    for (size_t i = 0; i < output->analysis->published_count; i++) {
        const struct co_published_depth *depth = &output->analysis->published[i];
        fprintf(file, "%" PRIu32 ",%.4f,%" PRIu32 "\n", depth->bins, depth->average, depth->largest);
    }
}

static void write_matchers(const struct co_trace_output *output, FILE *file)
{
    fprintf(file, "bins,lanes,bins_used,matches,walked_per_match,walked_most,collisions,empty_bins,blocks,in_blocks,"
                  "no_conflict,fast_path,slow_path,differences\n");
    for (size_t i = 0; i < output->analysis->replay.matcher_count; i++) {
        const struct co_replay_matcher *matcher = &output->analysis->matchers[i];
        fprintf(file,
                "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64
                ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                matcher->bins, matcher->lanes, matcher->bins_used, matcher->matches, co_analysis_walked(matcher),
                matcher->walked_most, matcher->collisions, matcher->empty_bins, matcher->blocks, matcher->in_blocks,
                matcher->free_path, matcher->fast_path, matcher->slow_path, matcher->differences);
    }
}

static void write_moments(const struct co_trace_output *output, FILE *file)
{
    const struct co_replay_result *replay = &output->analysis->replay;
    fprintf(file, "seconds,posted,unexpected\n");
    for (int i = 0; i < CO_REPLAY_TIMES; i++) {
        fprintf(file, "%.9f,%" PRIu32 ",%" PRIu32 "\n", (double)replay->span_ns / 1e9 * i / CO_REPLAY_TIMES,
                replay->moments[i].posted, replay->moments[i].unexpected);
    }
}

static void write_talk(const struct co_trace_output *output, FILE *file)
{
    const struct co_replay_result *replay = &output->analysis->replay;
    fprintf(file, "from,to,messages\n");
    for (uint32_t from = 0; from < replay->talk_ranks; from++) {
        for (uint32_t to = 0; to < replay->talk_ranks; to++) {
            uint64_t messages = replay->talk[from * replay->talk_ranks + to];
            if (messages > 0) {
                fprintf(file, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 "\n", from, to, messages);
            }
        }
    }
}

int co_trace_csv_write(const struct co_trace_output *output, const char *directory)
{
    static const struct {
        const char *name;
        void (*write)(const struct co_trace_output *output, FILE *file);
    } tables[] = {
        {"calls.csv", write_calls},     {"depth.csv", write_depth}, {"matchers.csv", write_matchers},
        {"moments.csv", write_moments}, {"talk.csv", write_talk},
    };
    char path[4096];
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        return -errno;
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, tables[i].name);
        FILE *file = co_output_open(path);
        if (file == NULL) {
            return -errno;
        }
        tables[i].write(output, file);
        int error = co_output_close(file);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}
