// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks into their place in the operation's buffer, one or a run of them, and what that changes of their block and is
// counted. What follows from it is the caller's. Hot.
#include "mcast/receive/placement.h"

#include <string.h>

#include "base/memory/memory_copy.h"
#include "base/counters.h"
#include "mcast/state/endpoint.h"

// The widest silence inside recent blocks, so that the next block's cutoff starts from what is normal here.
static void learn_gap(struct co_mcast_group *group, const struct co_receive_block *block)
{
    if (block->widest_gap_ns > group->widest_gap_ns) {
        group->widest_gap_ns = block->widest_gap_ns;
    } else if (co_receive_block_is_complete(block)) {
        group->widest_gap_ns -= (group->widest_gap_ns - block->widest_gap_ns) / 8;
    }
}

// Where all send: whose chunks have come since that of this block, and how long the port is silent between any two.
static void learn_turn(struct co_mcast_op *op, struct co_receive_block *block)
{
    struct co_mcast *mcast = op->group->mcast;
    block->heard_at = mcast->delivered;
    if (op->root >= 0 || mcast->now_ns <= op->heard_ns) {
        return;
    }
    uint64_t gap = op->heard_ns == 0 ? 0 : mcast->now_ns - op->heard_ns;
    uint64_t decayed = mcast->spacing_ns - mcast->spacing_ns / 8;
    mcast->spacing_ns = gap > decayed ? gap : decayed;
    op->heard_ns = mcast->now_ns;
}

void co_placement_copy(struct co_mcast_op *op, const struct co_receive_block *block, const struct co_chunk *chunk,
                       const uint8_t *payload, size_t bytes)
{
    struct co_mcast *mcast = op->group->mcast;
    uint8_t *place = op->buffer + block->offset + (size_t)chunk->psn * chunk->chunk_bytes;
    if (payload != place) {
        co_memory_copy(place, payload, bytes);
    }
    mcast->placed.landed += payload == place;
    mcast->placed.chunks++;
    mcast->placed.bytes += bytes;
    op->last_event_ns = mcast->now_ns;
    mcast->advances++;
}

// Not at each chunk: a counter costs as much as all else that is done for one.
void co_placement_count(struct co_mcast *mcast)
{
    if (mcast->placed.chunks > 0) {
        co_counter_add(CO_COUNT_DATA_PLACED, mcast->placed.chunks);
        co_counter_add(CO_COUNT_DATA_PLACED_BYTES, mcast->placed.bytes);
        co_counter_add(CO_COUNT_DATA_LANDED, mcast->placed.landed);
        co_counter_add(CO_COUNT_DATA_IN_RUNS, mcast->placed.in_runs);
        mcast->placed = (struct co_placed_chunks){0};
    }
}

void co_placement_heard(struct co_mcast *mcast)
{
    mcast->unheard_bytes = 0;
    co_counter_put(CO_COUNT_UNHEARD_BYTES, 0);
}

static void repaired(struct co_mcast *mcast, size_t bytes)
{
    mcast->unheard_bytes += bytes;
    co_counter_put(CO_COUNT_UNHEARD_BYTES, mcast->unheard_bytes);
}

static void count_placed(struct co_mcast_op *op, int source, struct co_receive_block *block, uint32_t chunks)
{
    struct co_mcast_group *group = op->group;
    learn_gap(group, block);
    co_operation_show(op, block);
    group->received[source] += chunks;
    group->delivered += chunks;
    group->mcast->delivered += chunks;
    op->arrived_chunks += chunks;
    op->begun_chunks += block->count == chunks ? block->chunks : 0; // these are its first
    if (block->count == block->chunks) {
        op->begun_chunks -= block->chunks;
        op->arrived_chunks -= block->chunks;
    }
    group->is_quiet = group->is_quiet && block->next_psn == block->count;
}

void co_placement_run(struct co_mcast_op *op, int source, struct co_receive_block *block, const struct co_flow *flow,
                      struct co_placed_chunks placed)
{
    struct co_mcast *mcast = op->group->mcast;
    if (flow->duplicates > 0) {
        co_counter_add(CO_COUNT_DATA_DUPLICATE, flow->duplicates);
    }
    if (placed.chunks == 0) {
        return;
    }
    co_receive_block_marked(block, &flow->marks, mcast->now_ns);
    mcast->placed.chunks += placed.chunks;
    mcast->placed.bytes += placed.bytes;
    mcast->placed.landed += placed.landed;
    mcast->placed.in_runs += placed.chunks;
    op->last_event_ns = mcast->now_ns;
    mcast->advances += placed.chunks;
    count_placed(op, source, block, (uint32_t)placed.chunks);
    learn_turn(op, block);
}

bool co_placement_chunk(struct co_mcast_op *op, struct co_receive_block *block, const struct co_chunk *chunk,
                        const uint8_t *payload, size_t bytes)
{
    co_operation_hear_way(op, chunk->source, chunk->way);
    if (!co_receive_block_accept(block, chunk->psn, chunk->is_repair, op->group->mcast->now_ns)) {
        co_counter_add(CO_COUNT_DATA_DUPLICATE, 1);
        return false;
    }
    co_placement_copy(op, block, chunk, payload, bytes);
    count_placed(op, chunk->source, block, 1);
    if (chunk->is_repair) {
        repaired(op->group->mcast, bytes);
    } else {
        learn_turn(op, block);
    }
    return true;
}
