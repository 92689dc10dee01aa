// SPDX-License-Identifier: BSD-3-Clause
//
// One way of matching, for all queues. Messages that come without a receive posted between them are one block, as far
// as the lanes reach; all lanes book before the first one judges, so that they meet as on hardware that runs them at
// once.
#include "tools/trace/replay/replay_matchers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "matching/match_lane.h"
#include "matching/match_steps.h"
#include "tools/trace/read/call.h"
#include "tools/trace/replay/replay_side_queue.h"

_Thread_local struct co_match_counts co_match_counts;

struct co_replay_side {
    struct co_replay_matcher *result;
    struct co_side_queue **queues;
    uint32_t queue_count;
    struct co_match_batch *block;
    double empty_sum;
};

struct co_replay_side *co_replay_side_open(struct co_replay_matcher *matcher)
{
    struct co_replay_side *side = calloc(1, sizeof *side);
    matcher->bins_used = 1;
    while (matcher->bins_used < matcher->bins) {
        matcher->bins_used *= 2;
    }
    if (side != NULL && (side->block = aligned_alloc(CO_LINE_PAIR, sizeof *side->block)) == NULL) {
        free(side);
        return NULL;
    }
    if (side != NULL) {
        memset(side->block, 0, sizeof *side->block);
        side->result = matcher;
    }
    return side;
}

static struct co_side_queue *queue_at(struct co_replay_side *side, uint32_t index)
{
    if (index >= side->queue_count) {
        uint32_t count = index + 64;
        struct co_side_queue **larger = realloc(side->queues, count * sizeof(struct co_side_queue *));
        if (larger == NULL) {
            return NULL;
        }
        memset(larger + side->queue_count, 0, (count - side->queue_count) * sizeof(struct co_side_queue *));
        side->queues = larger;
        side->queue_count = count;
    }
    if (side->queues[index] == NULL) {
        side->queues[index] = co_side_queue_open(side->result->bins_used);
    }
    return side->queues[index];
}

static int32_t asked(int32_t number)
{
    return number == CO_CALL_ANY ? CO_MATCH_ANY : number;
}

static uint32_t slot_of(const struct co_match_node *node)
{
    return node == NULL ? 0 : ((const struct co_side_node *)(const void *)node)->slot + 1;
}

static void compare(struct co_replay_side *side, const struct co_replay_step *step, const struct co_match_node *partner)
{
    side->result->matches += partner != NULL;
    side->result->differences += slot_of(partner) != step->partner;
}

// What the searches of a step, or of a block, have looked at.
static void count_search(struct co_replay_side *side, struct co_side_queue *queue, uint64_t searches)
{
    struct co_replay_matcher *result = side->result;
    queue->filled += (uint32_t)(co_match_counts.bins_filled - co_match_counts.bins_emptied);
    result->walked += co_match_counts.walked;
    result->walked_most = co_match_counts.walked > result->walked_most ? co_match_counts.walked : result->walked_most;
    result->collisions += co_match_counts.collisions;
    result->searches += searches;
    side->empty_sum += (double)searches * (1.0 - (double)queue->filled / result->bins_used);
    result->empty_bins = side->empty_sum / (double)result->searches;
    co_match_counts = (struct co_match_counts){.walked = 0};
}

static void no_pause(void *arg, unsigned lane)
{
    (void)arg;
    (void)lane; // nobody waits: lanes settle in order
}

static int fill_block(struct co_replay_side *side, struct co_side_queue *queue)
{
    struct co_match_batch *block = side->block;
    block->matcher = queue->matcher;
    block->count = queue->waiting_count;
    block->pause = no_pause;
    for (uint32_t i = 0; i < queue->waiting_count; i++) {
        const struct co_replay_step *step = &queue->waiting[i];
        struct co_side_node *node = co_side_node_at(&queue->messages, step->slot);
        if (node == NULL) {
            return -ENOMEM;
        }
        node->match.source = step->source;
        node->match.tag = step->tag;
        block->messages[i] = &node->match;
        block->hashes[i] = co_match_hashes_of(step->source, step->tag);
    }
    return 0;
}

static void count_paths(struct co_replay_side *side)
{
    const struct co_match_batch *block = side->block;
    for (unsigned i = 0; i < block->count; i++) {
        side->result->free_path += block->lanes[i].path == CO_PATH_FREE;
        side->result->fast_path += block->lanes[i].path == CO_PATH_FAST;
        side->result->slow_path += block->lanes[i].path == CO_PATH_SLOW;
    }
    side->result->blocks += block->count > 1;
    side->result->in_blocks += block->count > 1 ? block->count : 0;
}

// All messages that wait for their block.
static int flush(struct co_replay_side *side, struct co_side_queue *queue)
{
    struct co_match_batch *block = side->block;
    uint32_t count = queue->waiting_count;
    if (count == 0) {
        return 0;
    }
    int error = co_side_queue_make_room(queue, 0, count);
    error = error != 0 ? error : fill_block(side, queue);
    if (error != 0) {
        return error;
    }
    if (co_match_batch_begin(block)) {
        for (unsigned lane = 0; lane < count; lane++) {
            co_match_lane_book(block, lane);
        }
        for (unsigned lane = 0; lane < count; lane++) {
            co_match_lane_settle(block, lane);
        }
        co_match_batch_end(block);
        count_paths(side);
    }
    for (uint32_t i = 0; i < count; i++) {
        compare(side, &queue->waiting[i], block->receives[i]);
        queue->posted -= block->receives[i] != NULL;
        queue->stored += block->receives[i] == NULL;
    }
    queue->waiting_count = 0;
    count_search(side, queue, count);
    return 0;
}

static int arrive(struct co_replay_side *side, struct co_side_queue *queue, const struct co_replay_step *step)
{
    queue->waiting[queue->waiting_count++] = *step;
    return queue->waiting_count < side->result->lanes ? 0 : flush(side, queue);
}

// One by one, as a processor without lanes does.
static int arrive_alone(struct co_replay_side *side, struct co_side_queue *queue, const struct co_replay_step *step)
{
    int error = co_side_queue_make_room(queue, 0, 1);
    struct co_side_node *node = error != 0 ? NULL : co_side_node_at(&queue->messages, step->slot);
    if (node == NULL) {
        return -ENOMEM;
    }
    node->match.source = step->source;
    node->match.tag = step->tag;
    const struct co_match_node *receive = co_matcher_arrive(queue->matcher, &node->match, NULL);
    compare(side, step, receive);
    queue->posted -= receive != NULL;
    queue->stored += receive == NULL;
    count_search(side, queue, 1);
    return 0;
}

static int post(struct co_replay_side *side, struct co_side_queue *queue, const struct co_replay_step *step)
{
    int error = co_side_queue_make_room(queue, 1, 0);
    struct co_side_node *node = error != 0 ? NULL : co_side_node_at(&queue->receives, step->slot);
    if (node == NULL) {
        return -ENOMEM;
    }
    node->match.source = asked(step->source);
    node->match.tag = asked(step->tag);
    const struct co_match_node *message = co_matcher_post(queue->matcher, &node->match);
    compare(side, step, message);
    queue->posted += message == NULL;
    queue->stored -= message != NULL;
    count_search(side, queue, 1);
    return 0;
}

static int repeat(struct co_replay_side *side, const struct co_replay_step *step)
{
    struct co_side_queue *queue = queue_at(side, step->queue);
    if (queue == NULL) {
        return -ENOMEM;
    }
    if (step->kind == CO_STEP_ARRIVE) {
        return side->result->lanes > 1 ? arrive(side, queue, step) : arrive_alone(side, queue, step);
    }
    int error = flush(side, queue);
    if (error != 0 || step->kind == CO_STEP_POST) {
        return error != 0 ? error : post(side, queue, step);
    }
    if (step->kind == CO_STEP_TAKE) {
        const struct co_match_node *message = co_matcher_take(queue->matcher, asked(step->source), asked(step->tag));
        compare(side, step, message);
        queue->stored -= message != NULL;
    } else {
        struct co_side_node *node = co_side_node_at(&queue->receives, step->slot);
        bool is_gone = node != NULL && co_matcher_cancel(queue->matcher, &node->match);
        side->result->differences += !is_gone;
        queue->posted -= is_gone;
    }
    count_search(side, queue, 1);
    return 0;
}

int co_replay_side_feed(struct co_replay_side *side, const struct co_replay_step *steps, size_t count)
{
    int error = 0;
    co_match_counts = (struct co_match_counts){.walked = 0};
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = repeat(side, &steps[i]);
    }
    return error;
}

int co_replay_side_end(struct co_replay_side *side)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < side->queue_count; i++) {
        error = side->queues[i] == NULL ? 0 : flush(side, side->queues[i]);
    }
    return error;
}

void co_replay_side_close(struct co_replay_side *side)
{
    for (uint32_t i = 0; side != NULL && i < side->queue_count; i++) {
        co_side_queue_close(side->queues[i]);
    }
    if (side != NULL) {
        free(side->queues);
        free(side->block);
    }
    free(side);
}
