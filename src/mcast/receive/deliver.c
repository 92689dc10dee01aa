// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks into their place: straight to the operation's buffer, or to staging while the operation has not been started
// here (a later operation is kept, bounded, never dropped as foreign). Hot.
#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "base/mix_bits.h"
#include "mcast/endpoint.h"
#include "mcast/ack/ack.h"
#include "mcast/collect.h"
#include "mcast/operation.h"
#include "mcast/operation_length.h"
#include "mcast/receive/deliver.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/retransmit.h"

// The widest silence inside recent blocks, so that the next block's cutoff starts from what is normal here.
static void learn_gap(struct co_mcast_group *group, const struct co_receive_block *block)
{
    if (block->widest_gap_ns > group->widest_gap_ns) {
        group->widest_gap_ns = block->widest_gap_ns;
    } else if (co_receive_block_is_complete(block)) {
        group->widest_gap_ns -= (group->widest_gap_ns - block->widest_gap_ns) / 8;
    }
}

void co_deliver_copy(struct co_mcast_op *op, const struct co_receive_block *block, const struct co_chunk *chunk,
                     const uint8_t *payload, size_t bytes)
{
    struct co_mcast *mcast = op->group->mcast;
    uint8_t *place = op->buffer + block->offset + (size_t)chunk->psn * chunk->chunk_bytes;
    if (payload != place) {
        memcpy(place, payload, bytes);
    }
    mcast->placed.landed += payload == place;
    mcast->placed.chunks++;
    mcast->placed.bytes += bytes;
    op->last_event_ns = mcast->now_ns;
    mcast->advances++;
}

// Not at each chunk: a counter costs as much as all else that is done for one.
void co_deliver_count(struct co_mcast *mcast)
{
    if (mcast->placed.chunks > 0) {
        co_counter_add(CO_COUNT_DATA_PLACED, mcast->placed.chunks);
        co_counter_add(CO_COUNT_DATA_PLACED_BYTES, mcast->placed.bytes);
        co_counter_add(CO_COUNT_DATA_LANDED, mcast->placed.landed);
        co_counter_add(CO_COUNT_DATA_IN_RUNS, mcast->placed.in_runs);
        mcast->placed = (struct co_placed_chunks){0};
    }
}

static void count_arrived(struct co_mcast_op *op, const struct co_receive_block *block, uint32_t chunks)
{
    op->arrived_chunks += chunks;
    op->begun_chunks += block->count == chunks ? block->chunks : 0; // these are its first
}

void co_deliver_conclude(struct co_mcast_op *op, int source, const struct co_flow *flow, struct co_placed_chunks placed,
                         unsigned taken)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    struct co_receive_block *block = co_operation_block(op, source);
    mcast->events += (int)taken;
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
    co_landing_follow(op);
    learn_gap(group, block);
    group->received[source] += (uint32_t)placed.chunks;
    group->delivered += (uint32_t)placed.chunks;
    count_arrived(op, block, (uint32_t)placed.chunks);
    co_ack_changed(group, source);
    group->is_quiet = group->is_quiet && block->next_psn == block->count;
    if (co_receive_block_is_complete(block)) {
        co_operation_block_arrived(op, source);
    }
}

bool co_deliver_chunk(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes)
{
    struct co_mcast_group *group = op->group;
    if (chunk->is_contribution) {
        co_collect_place(op, chunk, payload, bytes);
        return false;
    }
    struct co_receive_block *block = co_operation_block(op, chunk->source);
    int error = block == NULL                        ? -EMSGSIZE
                : block->bytes != chunk->block_bytes ? co_operation_resize(op, chunk->block_bytes)
                                                     : 0;
    if (error != 0) {
        // Authentic, and yet of another shape: the program gave different sizes on different ranks. The credit is
        // for what was sent.
        if (op->failure == 0) {
            group->received[chunk->source] += co_wire_chunk_count(chunk->block_bytes, chunk->chunk_bytes);
            group->received[chunk->source] -= block == NULL ? 0 : block->chunks;
        }
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        co_operation_fail(op, error);
        return false;
    }
    bool is_new = co_receive_block_accept(block, chunk->psn, chunk->is_repair, group->mcast->now_ns);
    if (chunk->is_repair) {
        co_nack_answered(group, chunk->operation, chunk->label, is_new);
    }
    if (!is_new) {
        co_counter_add(CO_COUNT_DATA_DUPLICATE, 1);
        return false;
    }
    co_deliver_copy(op, block, chunk, payload, bytes);
    if (chunk->is_repair) {
        co_repair_window_came(&group->mcast->repair_window);
    } else {
        co_landing_follow(op);
    }
    learn_gap(group, block);
    group->received[chunk->source]++;
    group->delivered++;
    count_arrived(op, block, 1);
    co_ack_changed(group, chunk->source);
    group->is_quiet = group->is_quiet && block->next_psn == block->count;
    if (op->wanted != NULL && (chunk->is_repair || op->passes_all)) {
        co_retransmit_forward(op, chunk->source, chunk->psn);
    }
    if (co_receive_block_is_complete(block)) {
        co_operation_block_arrived(op, chunk->source);
    }
    return true;
}

static struct co_early_chunk **early_chain(struct co_mcast *mcast, const struct co_mcast_group *group,
                                           const struct co_chunk *chunk)
{
    uint64_t which = (uint64_t)chunk->operation << 32 | chunk->psn;
    return &mcast->early_chains[co_mix_bits(which ^ group->team_id ^ chunk->source) % CO_EARLY_CHAINS];
}

static bool is_same_chunk(const struct co_chunk *left, const struct co_chunk *right)
{
    return left->operation == right->operation && left->psn == right->psn && left->source == right->source &&
           left->is_contribution == right->is_contribution;
}

static bool is_kept_already(const struct co_early_chunk *early, const struct co_mcast_group *group,
                            const struct co_chunk *chunk)
{
    while (early != NULL && (early->group != group || !is_same_chunk(&early->chunk, chunk))) {
        early = early->next_in_chain;
    }
    return early != NULL;
}

static bool is_first_transmission(const struct co_chunk *chunk)
{
    return !chunk->is_repair && !chunk->is_contribution;
}

static void early_give(struct co_early_chunk *early)
{
    struct co_mcast *mcast = early->group->mcast;
    struct co_early_chunk **link = early_chain(mcast, early->group, &early->chunk);
    while (*link != early) {
        link = &(*link)->next_in_chain;
    }
    *link = early->next_in_chain;
    early->group->staged[early->chunk.source] -= is_first_transmission(&early->chunk);
    co_fixed_pool_give(&mcast->early, early);
}

bool co_early_keep(struct co_mcast_group *group, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes)
{
    struct co_mcast *mcast = group->mcast;
    struct co_early_chunk **chain = early_chain(mcast, group, chunk);
    if (is_kept_already(*chain, group, chunk)) { // copies of one would take the room of all
        co_counter_add(CO_COUNT_DATA_DUPLICATE, 1);
        return false;
    }
    struct co_early_chunk *early = co_fixed_pool_take(&mcast->early);
    if (early == NULL) {
        co_counter_add(CO_COUNT_STAGING_FULL, 1);
        return false; // whether it is new is not known: where nothing is kept, every copy would be
    }
    early->next = NULL;
    early->next_in_chain = *chain;
    *chain = early;
    early->group = group;
    early->chunk = *chunk;
    early->bytes = bytes;
    memcpy(early->payload, payload, bytes);
    *group->early_end = early;
    group->early_end = &early->next;
    group->staged[chunk->source] += is_first_transmission(chunk);
    co_ack_changed(group, chunk->source);
    co_counter_add(CO_COUNT_DATA_EARLY, 1);
    co_counter_raise(CO_COUNT_STAGING_HIGH, mcast->early.in_use * mcast->early.object_bytes + mcast->kept_bytes);
    return true;
}

void co_early_replay(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    struct co_early_chunk **link = &group->early_first;
    while (*link != NULL) {
        struct co_early_chunk *early = *link;
        if (early->chunk.operation != op->number) {
            link = &early->next;
            continue;
        }
        *link = early->next;
        if (op->state == 0) {
            co_deliver_chunk(op, &early->chunk, early->payload, early->bytes);
        }
        early_give(early);
    }
    group->early_end = link;
    co_deliver_count(group->mcast);
}

void co_early_drop_all(struct co_mcast_group *group)
{
    while (group->early_first != NULL) {
        struct co_early_chunk *early = group->early_first;
        group->early_first = early->next;
        early_give(early);
    }
    group->early_end = &group->early_first;
}
