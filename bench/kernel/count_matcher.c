// SPDX-License-Identifier: BSD-3-Clause
//
// The matcher, a message at a time, and its lanes, in blocks of 32 that one processor stands for: all book, then each
// settles, so that they meet as lanes do that run at the same pace. Receives are posted and hashes known before.
#include <stdlib.h>
#include <string.h>

#include "kernel_count.h"
#include "matching/match_lane.h"

enum { INLINE = CO_PATHS, ALONE = 8 }; // variants: a path, perhaps in blocks of one lane

static struct co_match_node receives[COUNT_MOST], messages[COUNT_MOST];
static struct co_match_hashes hashes[COUNT_MOST];
static struct co_match_node *taken[COUNT_MOST];
static unsigned by_path;

static void never(void *arg, unsigned lane) // none waits: they settle in their order
{
    (void)arg, (void)lane;
    abort();
}

static struct co_matcher *prepare(unsigned path)
{
    static const struct co_matcher_config config = {.receives = COUNT_MOST, .messages = COUNT_MOST, .bins = 1024};
    size_t bytes = (co_matcher_bytes(&config) + CO_LINE_PAIR - 1) / CO_LINE_PAIR * CO_LINE_PAIR;
    void *memory = aligned_alloc(CO_LINE_PAIR, bytes);
    if (memory == NULL) {
        return NULL;
    }
    memset(memory, 0, bytes);
    struct co_matcher *matcher = co_matcher_open(memory, &config);
    for (unsigned i = 0; i < COUNT_MOST; i++) {
        int32_t tag = path == CO_PATH_FREE || path == INLINE ? (int32_t)i : 0;
        receives[i] =
            (struct co_match_node){.source = path == CO_PATH_SLOW && i % 2 == 1 ? CO_MATCH_ANY : 0, .tag = tag};
        messages[i] = (struct co_match_node){.source = 0, .tag = tag};
        hashes[i] = co_match_hashes_of(0, tag);
        co_matcher_post(matcher, &receives[i]);
    }
    return matcher;
}

static void run_block(struct co_match_batch *block, unsigned first)
{
    for (unsigned i = 0; i < block->count; i++) {
        block->messages[i] = &messages[first + i];
        block->hashes[i] = hashes[first + i];
    }
    co_match_batch_begin(block);
    for (unsigned i = 0; i < block->count; i++) {
        co_match_lane_book(block, i);
    }
    for (unsigned i = 0; i < block->count; i++) {
        co_match_lane_settle(block, i);
    }
    co_match_batch_end(block);
    for (unsigned i = 0; i < block->count; i++) {
        taken[first + i] = block->receives[i];
    }
}

static bool run(unsigned variant, unsigned count)
{
    static struct co_match_batch block;
    unsigned path = variant & ~ALONE;
    struct co_matcher *matcher = prepare(path);
    if (matcher == NULL) {
        return false;
    }
    block.matcher = matcher;
    block.count = variant & ALONE ? 1 : COUNT_BATCH;
    block.pause = never;
    for (unsigned at = 0; at < count && path == INLINE; at++) {
        taken[at] = co_matcher_arrive(matcher, &messages[at], &hashes[at]);
    }
    for (unsigned at = 0; at < count && path != INLINE; at += block.count) {
        run_block(&block, at);
    }
    bool is_right = block.faults == 0;
    for (unsigned i = 1; i < block.count && path != INLINE; i++) {
        by_path += (unsigned)block.lanes[i].path == path;
    }
    for (unsigned i = 0; i < COUNT_MOST; i++) {
        is_right = is_right && (taken[i] == (i < count ? &receives[i] : NULL));
        count_note(taken[i] == NULL ? 0 : (uint64_t)(taken[i] - receives + 1));
    }
    return is_right && (path == INLINE || by_path == block.count - 1);
}

const struct count_case count_matcher_cases[] = {
    {"match-inline", run, INLINE, "a message alone that finds its receive"},
    {"match-lane", run, CO_PATH_FREE | ALONE, "a lane alone, with begin and end of its block"},
    {"match-free", run, CO_PATH_FREE,
     "a lane of 32, looking at all earlier ones, whose message has a receive of its own"},
    {"match-fast", run, CO_PATH_FAST, "a lane of 32 that want the same receive, in a run of equal ones"},
    {"match-slow", run, CO_PATH_SLOW, "a lane of 32 that want the same receive, and look anew one after the other"},
    {NULL, NULL, 0, NULL}};
