// SPDX-License-Identifier: BSD-3-Clause
//
// Begin and end of a replay.
#include <errno.h>
#include <stdlib.h>

#include "tools/trace/replay/replay_state.h"

static void close_rank(struct co_replay_rank *rank)
{
    co_hash_map_close_free(&rank->receives);
    co_hash_map_close(&rank->places);
    co_hash_map_close(&rank->by_comm);
    co_hash_map_close(&rank->made);
    co_event_reader_close(&rank->events);
}

static void close_all(struct co_replay *replay)
{
    for (size_t i = 0; replay->sides != NULL && i < replay->result->matcher_count; i++) {
        co_replay_side_close(replay->sides[i]);
    }
    for (uint32_t i = 0; replay->ranks != NULL && i < replay->size; i++) {
        close_rank(&replay->ranks[i]);
    }
    co_replay_comms_close(replay);
    co_hash_map_close(&replay->by_members);
    co_hash_map_close(&replay->source_tags);
    co_hash_map_close(&replay->tags);
    free(replay->sides);
    free(replay->ranks);
    free(replay->heap);
    free(replay->steps);
}

static int open_ranks(struct co_replay *replay, const struct co_application *application)
{
    struct co_replay_result *result = replay->result;
    for (uint32_t i = 0; i < replay->size; i++) {
        replay->ranks[i].rank = (int32_t)i;
    }
    for (size_t i = 0; i < application->rank_count; i++) {
        const struct co_application_rank *from = &application->ranks[i];
        struct co_replay_rank *rank = &replay->ranks[from->rank];
        uint64_t span = from->head.end_ns - from->head.begin_ns;
        if (co_event_reader_open(&rank->events, application->directory, from->events, from->head.events) != 0) {
            return -ENOMEM;
        }
        rank->is_traced = true;
        rank->takes_from_anybody = from->head.from_anybody > 0;
        replay->all_events += from->head.events;
        result->span_ns = span > result->span_ns && span < UINT64_MAX / 4 ? span : result->span_ns;
    }
    return 0;
}

static int open_all(struct co_replay *replay, const struct co_application *application)
{
    struct co_replay_result *result = replay->result;
    replay->size = (uint32_t)application->size;
    replay->ranks = calloc((size_t)replay->size + 1, sizeof *replay->ranks);
    replay->heap = calloc((size_t)replay->size + 1, sizeof(struct co_replay_rank *));
    replay->steps = calloc(CO_REPLAY_STEPS, sizeof *replay->steps);
    replay->sides = calloc(result->matcher_count + 1, sizeof(struct co_replay_side *));
    if (replay->ranks == NULL || replay->heap == NULL || replay->steps == NULL || replay->sides == NULL) {
        return -ENOMEM;
    }
    result->talk_ranks = replay->size <= CO_REPLAY_TALK_MAX ? replay->size : 0;
    result->talk = calloc((size_t)result->talk_ranks * result->talk_ranks + 1, sizeof *result->talk);
    int error = result->talk == NULL ? -ENOMEM : open_ranks(replay, application);
    for (size_t i = 0; error == 0 && i < result->matcher_count; i++) {
        replay->sides[i] = co_replay_side_open(&result->matchers[i]);
        error = replay->sides[i] == NULL ? -ENOMEM : 0;
    }
    return error != 0 ? error : co_replay_comms_open(replay);
}

static void finish(struct co_replay *replay)
{
    struct co_replay_result *result = replay->result;
    co_replay_feed(replay);
    for (size_t i = 0; replay->error == 0 && i < result->matcher_count; i++) {
        replay->error = co_replay_side_end(replay->sides[i]);
    }
    for (uint32_t i = 0; i < replay->place_count; i++) {
        const struct co_queue *queue = &replay->all[i]->queue;
        result->unreceived += queue->unexpected.count + queue->held.count;
        result->unmatched += queue->posted.count;
    }
    for (uint32_t i = 0; i < replay->size; i++) {
        result->damaged += replay->ranks[i].events.is_damaged;
    }
    co_replay_doubt_orders(replay);
    if (replay->depth_samples > 0) {
        result->posted_mean = replay->posted_sum / (double)replay->depth_samples;
        result->unexpected_mean = replay->unexpected_sum / (double)replay->depth_samples;
    }
}

int co_replay_run(const struct co_application *application, struct co_replay_matcher *matchers, size_t matcher_count,
                  void (*progress)(void *arg, uint64_t done, uint64_t all), void *arg, struct co_replay_result *result)
{
    *result = (struct co_replay_result){.matchers = matchers, .matcher_count = matcher_count};
    struct co_replay replay = {.result = result};
    replay.error = open_all(&replay, application);
    if (replay.error == 0) {
        for (uint32_t i = 0; i < replay.size; i++) {
            if (replay.ranks[i].is_traced) {
                co_replay_queue_rank(&replay, &replay.ranks[i]);
            }
        }
        co_replay_go(&replay, progress, arg);
        finish(&replay);
    }
    close_all(&replay);
    return replay.error;
}

void co_replay_close(struct co_replay_result *result)
{
    free(result->talk);
    result->talk = NULL;
}
