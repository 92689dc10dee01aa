// SPDX-License-Identifier: BSD-3-Clause
//
// The slow path: exact missing ranges are asked of the left neighbour in the ring (now and then of the block's owner,
// should the neighbour be stuck), and served to whoever asks. A neighbour that lacks a chunk too remembers who wants
// it and passes it on when its own repair brings it, so in the worst case this is the ring algorithm (S1, section 3.3).
// A wanted chunk that comes by multicast is not passed on: the asker most likely heard it as well. Cold without loss.
#include <stdlib.h>

#include "base/counters.h"
#include "mcast/endpoint.h"

#define RETRY_LEAST_NS UINT64_C(500000)
#define RETRY_MOST_NS UINT64_C(50000000)
#define CUTOFF_MOST 25 // times its floor
#define REORDER_NS UINT64_C(100000)

struct co_repair_timing co_repair_timing(const struct co_mcast_group *group)
{
    const struct co_mcast *mcast = group->mcast;
    uint64_t cutoff = mcast->config.cutoff_ns;
    uint64_t measured = 2 * (mcast->trip.smoothed_ns + group->widest_gap_ns);
    uint64_t most = CUTOFF_MOST * cutoff;
    return (struct co_repair_timing){.cutoff_ns = measured < cutoff ? cutoff
                                                  : measured > most ? most
                                                                    : measured,
                                     .retry_ns =
                                         mcast->trip.smoothed_ns == 0
                                             ? 4 * RETRY_LEAST_NS
                                             : co_round_trip_timeout_ns(&mcast->trip, RETRY_LEAST_NS, RETRY_MOST_NS),
                                     .reorder_ns = REORDER_NS * (mcast->config.subgroups > 1 ? 5 : 1)};
}

static int holder_to_ask(const struct co_mcast_group *group, int source, const struct co_receive_block *block)
{
    const struct co_mcast *mcast = group->mcast;
    bool left_is_dead = mcast->peers[group->members[group->left]].is_dead;
    return left_is_dead || block->retries % 3 == 2 ? source : group->left;
}

static void request_block(struct co_mcast_op *op, int index, const struct co_repair_timing *timing)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    struct co_receive_block *block = &op->blocks[index];
    struct co_fetch_range ranges[CO_FETCH_RANGES_MAX];
    bool is_retry;
    unsigned count = co_receive_block_request(block, timing, mcast->now_ns, ranges, CO_FETCH_RANGES_MAX, &is_retry);
    if (count == 0) {
        return;
    }
    int source = co_operation_source(op, index);
    uint8_t body[CO_CONTROL_MAX];
    size_t bytes = co_wire_fetch_encode(body, (uint16_t)source, ranges, count);
    co_control_send_member(group, holder_to_ask(group, source, block), CO_CONTROL_FETCH, op->number, (uint16_t)count,
                           body, bytes);
    co_counter_add(CO_COUNT_FETCH_REQUESTS, 1);
    for (unsigned i = 0; i < count && !is_retry && !block->in_tail; i++) {
        group->lost += ranges[i].count; // beyond doubt: later chunks have come
    }
    mcast->events++;
}

// A source sends its blocks in order: what it sends now says that everything before has left.
void co_repair_hear(struct co_mcast_group *group, const struct co_chunk *chunk)
{
    group->mcast->peers[group->members[chunk->source]].heard_ns = group->mcast->now_ns;
    if (!co_serial_before(group->latest[chunk->source], chunk->operation)) {
        return;
    }
    group->latest[chunk->source] = chunk->operation;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        struct co_receive_block *block = co_operation_block(op, chunk->source);
        if (co_serial_before(op->number, chunk->operation) && block != NULL) {
            co_receive_block_all_sent(block);
        }
    }
}

static uint64_t heard_ns(const struct co_mcast_op *op, int block)
{
    const struct co_mcast_group *group = op->group;
    return group->mcast->peers[group->members[co_operation_source(op, block)]].heard_ns;
}

uint64_t co_repair_due_ns(const struct co_mcast_op *op)
{
    if (op->state != 0 || op->blocks_missing == 0) {
        return CO_NEVER;
    }
    uint64_t due = CO_NEVER;
    struct co_repair_timing timing = co_repair_timing(op->group);
    for (int i = 0; i < op->block_count; i++) {
        timing.heard_ns = heard_ns(op, i);
        uint64_t block_due = co_receive_block_due_ns(&op->blocks[i], &timing);
        due = block_due < due ? block_due : due;
    }
    return due;
}

void co_repair_request(struct co_mcast_op *op)
{
    if (op->state != 0 || op->blocks_missing == 0 || op->group->mcast->is_behind) {
        return;
    }
    struct co_repair_timing timing = co_repair_timing(op->group);
    for (int i = 0; i < op->block_count; i++) {
        timing.heard_ns = heard_ns(op, i);
        if (co_receive_block_due_ns(&op->blocks[i], &timing) <= op->group->mcast->now_ns) {
            request_block(op, i, &timing);
        }
    }
}

static bool is_queued(const struct co_mcast *mcast, const struct co_repair *repair)
{
    for (unsigned i = mcast->repair_head; i != mcast->repair_tail; i++) {
        const struct co_repair *other = &mcast->repairs[i % CO_REPAIR_QUEUE];
        if (other->group == repair->group && other->operation == repair->operation && other->source == repair->source &&
            other->to == repair->to && other->first <= repair->first &&
            other->first + other->count >= repair->first + repair->count) {
            return true;
        }
    }
    return false;
}

// Queues a served range; a full queue drops it, since the asker will ask again.
static void queue_repair(struct co_mcast *mcast, const struct co_repair *repair)
{
    if (mcast->repair_tail != mcast->repair_head) {
        struct co_repair *last = &mcast->repairs[(mcast->repair_tail - 1) % CO_REPAIR_QUEUE];
        if (last->group == repair->group && last->operation == repair->operation && last->source == repair->source &&
            last->to == repair->to && last->first + last->count == repair->first) {
            last->count += repair->count;
            return;
        }
    }
    if (mcast->repair_tail - mcast->repair_head == CO_REPAIR_QUEUE || is_queued(mcast, repair)) {
        return;
    }
    mcast->repairs[mcast->repair_tail++ % CO_REPAIR_QUEUE] = *repair;
    mcast->timer_ns = 0;
}

static void park(struct co_mcast_op *op, int source, uint32_t first, uint32_t last)
{
    int index = op->root >= 0 ? 0 : source;
    if (op->wanted == NULL) {
        op->wanted = calloc((size_t)op->block_count, sizeof(*op->wanted));
    }
    if (op->wanted == NULL) {
        return; // the asker will ask again
    }
    if (op->wanted[index] == NULL) {
        op->wanted[index] = calloc(co_chunk_bitmap_words(op->blocks[index].chunks), sizeof(uint64_t));
    }
    if (op->wanted[index] == NULL) {
        return;
    }
    for (uint32_t psn = first; psn < last; psn++) {
        co_chunk_bitmap_set(op->wanted[index], psn);
    }
    co_counter_add(CO_COUNT_FETCH_PARKED, 1);
}

// Splits an asked range into what is here (queued) and what is not (parked for the right neighbour).
static void serve_range(struct co_mcast_op *op, int from, int source, const struct co_fetch_range *range)
{
    struct co_mcast_group *group = op->group;
    struct co_receive_block *block = co_operation_block(op, source);
    if (block == NULL || range->count == 0 || range->first >= block->chunks ||
        range->count > block->chunks - range->first) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return;
    }
    uint32_t end = range->first + range->count;
    if (source == group->self && end > op->next_psn && op->next_psn < op->send_chunks) {
        end = op->next_psn; // the rest is not lost, it has yet to be sent
    }
    for (uint32_t at = range->first; at < end;) {
        bool is_here = co_chunk_bitmap_has(block->arrived, at);
        uint32_t until = co_chunk_bitmap_find(block->arrived, at, end, !is_here);
        if (is_here) {
            struct co_repair repair = {group, op->number, at, until - at, (uint16_t)source, from};
            queue_repair(group->mcast, &repair);
        } else if (from == group->right) {
            park(op, source, at, until);
        }
        at = until;
    }
}

void co_repair_take_fetch(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body)
{
    struct co_mcast_op *op = co_operation_find(group, control->operation);
    if (op == NULL || op->state < 0) {
        return; // not begun here, or over: the asker tries again or elsewhere
    }
    co_counter_add(CO_COUNT_FETCH_SERVED, 1);
    int source = co_wire_fetch_source(body);
    for (unsigned i = 0; i < control->entries; i++) {
        struct co_fetch_range range;
        co_wire_range_decode(&range, body, i);
        serve_range(op, from, source, &range);
    }
}

void co_repair_forward(struct co_mcast_op *op, int source, uint32_t psn)
{
    int index = op->root >= 0 ? 0 : source;
    uint64_t *wanted = op->wanted[index];
    if (wanted != NULL && co_chunk_bitmap_has(wanted, psn)) {
        co_chunk_bitmap_clear(wanted, psn);
        struct co_repair repair = {op->group, op->number, psn, 1, (uint16_t)source, op->group->right};
        queue_repair(op->group->mcast, &repair);
    }
}

void co_repair_serve(struct co_mcast *mcast)
{
    while (mcast->repair_head != mcast->repair_tail) {
        struct co_repair *repair = &mcast->repairs[mcast->repair_head % CO_REPAIR_QUEUE];
        struct co_mcast_op *op = repair->group == NULL ? NULL : co_operation_find(repair->group, repair->operation);
        if (op == NULL || op->state < 0 || repair->count == 0) {
            mcast->repair_head++;
            continue;
        }
        struct co_destination to = {CO_TO_PEER, (unsigned)repair->group->members[repair->to]};
        int sent = co_chunks_send(op, repair->source, repair->first, repair->count, to, true);
        if (sent < 0) {
            mcast->repair_head++;
            continue;
        }
        for (int i = 0; i < sent; i++) {
            co_counter_add(CO_COUNT_FETCH_BYTES, mcast->batch.datagrams[i].payload_bytes);
        }
        repair->first += (uint32_t)sent;
        repair->count -= (uint32_t)sent;
        mcast->events += sent > 0;
        if (repair->count > 0 && sent == 0) {
            return; // local queue full
        }
    }
}

// A group that goes away leaves nothing behind that points to it; what is queued for an operation that is gone is
// skipped when its turn comes.
void co_repair_forget(struct co_mcast_group *group)
{
    struct co_mcast *mcast = group->mcast;
    for (unsigned i = mcast->repair_head; i != mcast->repair_tail; i++) {
        if (mcast->repairs[i % CO_REPAIR_QUEUE].group == group) {
            mcast->repairs[i % CO_REPAIR_QUEUE].group = NULL;
        }
    }
}
