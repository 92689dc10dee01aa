// SPDX-License-Identifier: BSD-3-Clause
//
// Runs the parts and judges.
#include "tools/trace/analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>

double co_analysis_walked(const struct co_replay_matcher *matcher)
{
    return matcher->matches == 0 ? 0 : (double)matcher->walked / (double)matcher->matches;
}

static int find_published(struct co_analysis *analysis, const struct co_application *application)
{
    struct co_event_reader *readers = calloc(application->rank_count + 1, sizeof *readers);
    int error = readers == NULL ? -ENOMEM : 0;
    for (size_t i = 0; error == 0 && i < application->rank_count; i++) {
        error = co_event_reader_open(&readers[i], application->directory, application->ranks[i].events,
                                     application->ranks[i].head.events);
    }
    if (error == 0) {
        error = co_published_depths(readers, application->rank_count, analysis->published, analysis->published_count);
    }
    for (size_t i = 0; readers != NULL && i < application->rank_count; i++) {
        co_event_reader_close(&readers[i]);
    }
    free(readers);
    return error;
}

static void count_calls(struct co_analysis *analysis, const struct co_application *application)
{
    for (size_t i = 0; i < application->rank_count; i++) {
        for (unsigned id = 0; id < CO_CALL_COUNT; id++) {
            analysis->calls[id] += application->ranks[i].head.calls[id];
            analysis->families[co_call_rows[id].family] += application->ranks[i].head.calls[id];
        }
    }
}

// Matched one by one: of the fewest lanes.
static bool is_alone(const struct co_analysis *analysis, const struct co_replay_matcher *matcher)
{
    return matcher->lanes == analysis->matchers[0].lanes;
}

static void judge(struct co_analysis *analysis)
{
    enum { LONG_SEARCH_PERCENT = 150, ENOUGH_PERCENT = 110 };
    const struct co_replay_result *replay = &analysis->replay;
    const struct co_replay_matcher *fewest = NULL, *best = NULL;
    analysis->is_alike = true;
    analysis->conflicts = -1;
    for (size_t i = 0; i < replay->matcher_count; i++) {
        const struct co_replay_matcher *matcher = &analysis->matchers[i];
        double walked = co_analysis_walked(matcher);
        analysis->is_alike = analysis->is_alike && matcher->differences == 0;
        if (matcher->in_blocks > 0 && matcher->lanes >= analysis->conflict_lanes) {
            analysis->conflict_lanes = matcher->lanes;
            analysis->conflicts = (double)(matcher->fast_path + matcher->slow_path) / (double)matcher->in_blocks;
        }
        if (!is_alone(analysis, matcher)) {
            continue;
        }
        fewest = fewest == NULL || matcher->bins < fewest->bins ? matcher : fewest;
        best = best == NULL || walked < co_analysis_walked(best) ? matcher : best;
    }
    if (fewest == NULL || fewest->matches == 0) {
        analysis->verdict = CO_VERDICT_NOTHING;
        return;
    }
    const struct co_replay_matcher *enough = best;
    for (size_t i = 0; i < replay->matcher_count; i++) {
        const struct co_replay_matcher *matcher = &analysis->matchers[i];
        if (is_alone(analysis, matcher) && matcher->bins < enough->bins &&
            100 * co_analysis_walked(matcher) <= ENOUGH_PERCENT * co_analysis_walked(best)) {
            enough = matcher;
        }
    }
    analysis->enough_bins = enough->bins;
    analysis->walked_before = co_analysis_walked(fewest);
    analysis->walked_then = co_analysis_walked(enough);
    bool is_long = 100 * analysis->walked_before > LONG_SEARCH_PERCENT;
    bool is_shorter = 100 * analysis->walked_before > LONG_SEARCH_PERCENT * analysis->walked_then;
    analysis->verdict = !is_long ? CO_VERDICT_NO_NEED : is_shorter ? CO_VERDICT_BENEFITS : CO_VERDICT_LITTLE;
}

int co_analysis_run(struct co_analysis *analysis, const struct co_application *application,
                    const struct co_analysis_config *config)
{
    *analysis = (struct co_analysis){.published_count = config->bins_count};
    analysis->published = calloc(config->bins_count + 1, sizeof *analysis->published);
    analysis->matchers = calloc(config->bins_count * config->lanes_count + 1, sizeof *analysis->matchers);
    if (analysis->published == NULL || analysis->matchers == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < config->bins_count; i++) {
        analysis->published[i].bins = config->bins[i];
        for (size_t j = 0; j < config->lanes_count; j++) {
            struct co_replay_matcher *matcher = &analysis->matchers[i * config->lanes_count + j];
            matcher->bins = config->bins[i];
            matcher->lanes = config->lanes[j];
        }
    }
    count_calls(analysis, application);
    int error = find_published(analysis, application);
    if (error == 0) {
        error = co_replay_run(application, analysis->matchers, config->bins_count * config->lanes_count,
                              config->progress, config->arg, &analysis->replay);
    }
    if (error == 0) {
        judge(analysis);
    }
    return error;
}

void co_analysis_close(struct co_analysis *analysis)
{
    co_replay_close(&analysis->replay);
    free(analysis->published);
    free(analysis->matchers);
}
