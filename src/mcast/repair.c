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
#define RETRY_MOST_NS UINT64_C(25000000)
#define CUTOFF_MOST 25 // times its floor
#define REORDER_NS UINT64_C(100000)
#define DEAF_BLOCKS 3 // that came by repair alone

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
                                             ? 2 * RETRY_LEAST_NS
                                             : co_round_trip_timeout_ns(&mcast->trip, RETRY_LEAST_NS, RETRY_MOST_NS),
                                     .trip_ns = mcast->trip.smoothed_ns,
                                     .reorder_ns = REORDER_NS * (mcast->config.subgroups > 1 ? 5 : 1)};
}

static int holder_to_ask(const struct co_mcast_group *group, int source, const struct co_receive_block *block)
{
    const struct co_mcast *mcast = group->mcast;
    bool left_is_dead = mcast->peers[group->members[group->left]].is_dead;
    return left_is_dead || block->retries % 6 == 5 ? source : group->left;
}

static void request_block(struct co_mcast_op *op, int index, const struct co_repair_timing *timing)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    struct co_receive_block *block = &op->blocks[index];
    struct co_fetch_range ranges[CO_FETCH_RANGES_MAX];
    struct co_request request = {.ranges = ranges, .room = CO_FETCH_RANGES_MAX};
    if (co_receive_block_request(block, timing, mcast->now_ns, &request) == 0) {
        return;
    }
    group->requests++;
    bool is_deaf = timing->is_deaf && !block->is_heard;
    struct co_fetch_body fetch = {.source = (uint16_t)co_operation_source(op, index),
                                  .why = is_deaf             ? CO_FETCH_DEAF
                                         : request.is_proven ? CO_FETCH_LOST
                                                             : CO_FETCH_GUESS};
    uint8_t body[CO_CONTROL_MAX];
    size_t bytes = co_wire_fetch_encode(body, &fetch, ranges, request.count);
    co_control_send_member(group, holder_to_ask(group, fetch.source, block), CO_CONTROL_FETCH, op->number,
                           (uint16_t)request.count, body, bytes);
    co_counter_add(CO_COUNT_FETCH_REQUESTS, 1);
    if (is_deaf) {
        block->asked_ns = 0; // the answer comes when the chunk exists, which is no round trip
    }
    for (unsigned i = 0; i < request.count && !request.is_retry && !block->in_tail; i++) {
        group->lost += ranges[i].count; // beyond doubt: later chunks have come
    }
    mcast->events++;
}

// A source sends its blocks in order: what it sends now says that everything before has left.
void co_repair_hear(struct co_mcast_group *group, const struct co_chunk *chunk)
{
    group->mcast->peers[group->members[chunk->source]].heard_ns = group->mcast->now_ns;
    group->unheard[chunk->source] = 0;
    group->credit_every[chunk->source] = chunk->credit_shift == 0 ? 0 : UINT32_C(1) << (chunk->credit_shift - 1);
    if (!co_serial_before(group->latest[chunk->source], chunk->operation)) {
        return;
    }
    group->latest[chunk->source] = chunk->operation;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        struct co_receive_block *block = co_operation_block(op, chunk->source);
        if (co_serial_before(op->number, chunk->operation) && block != NULL) {
            co_receive_block_all_sent(block, group->mcast->now_ns);
        }
    }
}

// What is so of the source now; every block of the group is to be met once in a turn, the oldest first.
static void look_at_source(struct co_mcast_group *group, int source, struct co_repair_timing *timing)
{
    timing->heard_ns = group->mcast->peers[group->members[source]].heard_ns;
    timing->is_next = group->seen_in_turn[source] != group->turn;
    timing->request = group->requests + 1;
    timing->answered = group->answered;
    timing->is_deaf = group->unheard[source] >= DEAF_BLOCKS;
    group->seen_in_turn[source] = group->turn;
}

// A collector's own block has yet to be put together, but nobody else has it.
static bool awaits_block(const struct co_mcast_op *op, int index)
{
    return !co_receive_block_is_complete(&op->blocks[index]) && co_operation_source(op, index) != op->group->self;
}

uint64_t co_repair_due_ns(struct co_mcast_group *group)
{
    uint64_t due = CO_NEVER;
    struct co_repair_timing timing = co_repair_timing(group);
    group->turn++;
    for (const struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        for (int i = 0; i < op->block_count && op->state == 0 && op->blocks_missing > 0; i++) {
            if (!awaits_block(op, i)) {
                continue;
            }
            look_at_source(group, co_operation_source(op, i), &timing);
            uint64_t block_due = co_receive_block_due_ns(&op->blocks[i], &timing);
            due = block_due < due ? block_due : due;
        }
    }
    return due;
}

void co_repair_request(struct co_mcast_group *group)
{
    if (group->mcast->is_behind) {
        return;
    }
    struct co_repair_timing timing = co_repair_timing(group);
    group->turn++;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        for (int i = 0; i < op->block_count && op->state == 0 && op->blocks_missing > 0; i++) {
            if (!awaits_block(op, i)) {
                continue;
            }
            look_at_source(group, co_operation_source(op, i), &timing);
            if (co_receive_block_due_ns(&op->blocks[i], &timing) <= group->mcast->now_ns) {
                request_block(op, i, &timing);
            }
        }
    }
}

// Of a block that came by repair alone nobody has heard the source: when that is so again and again, its multicast
// does not come here.
void co_repair_block_arrived(struct co_mcast_op *op, int source)
{
    if (!co_operation_block(op, source)->is_heard && op->group->unheard[source] < DEAF_BLOCKS) {
        op->group->unheard[source]++;
    }
    for (struct co_mcast_op *later = op->next; later != NULL; later = later->next) {
        struct co_receive_block *block = co_operation_block(later, source);
        if (block != NULL && !co_receive_block_is_complete(block)) {
            co_receive_block_is_next(block, op->group->mcast->now_ns);
            return;
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

// Who only guesses that our chunks are lost is about to get them, unless we have stopped for want of credit.
static bool is_stuck(const struct co_mcast_op *op)
{
    return op->group->mcast->now_ns - op->last_sent_ns >= co_repair_timing(op->group).retry_ns;
}

// Up to where an asked range of our own block is answered: the rest is not lost, it is under way or yet to be sent. A
// guess about a long block is answered by the word that all is sent: it follows the chunks through the queues, and
// whoever still misses some when it comes asks in earnest. Short blocks are not worth the detour.
static uint32_t answerable(struct co_mcast_op *op, int from, const struct co_fetch_body *fetch, uint32_t first,
                           uint32_t end)
{
    uint32_t limit = op->next_psn;
    if (fetch->why == CO_FETCH_GUESS && op->send_chunks >= CO_WIRE_ANNOUNCED_CHUNKS) {
        if (op->next_psn == op->send_chunks) {
            co_control_send_member(op->group, from, CO_CONTROL_SENT, op->number, 0, NULL, 0);
        }
        limit = op->next_psn < op->send_chunks && is_stuck(op) ? op->next_psn : first;
    }
    limit = op->send_chunks == 0 || limit > end ? end : limit < first ? first : limit;
    if (limit < end && fetch->why == CO_FETCH_DEAF && from == op->group->right) {
        park(op, fetch->source, limit, end);
    }
    return limit;
}

// Splits an asked range into what is here (queued) and what is not (parked for the right neighbour).
static void serve_range(struct co_mcast_op *op, int from, const struct co_fetch_body *fetch,
                        const struct co_fetch_range *range)
{
    struct co_mcast_group *group = op->group;
    struct co_receive_block *block = co_operation_block(op, fetch->source);
    if (block == NULL || range->count == 0 || range->first >= block->chunks ||
        range->count > block->chunks - range->first) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return;
    }
    uint32_t end = range->first + range->count;
    if (fetch->source == group->self) {
        end = answerable(op, from, fetch, range->first, end);
    }
    for (uint32_t at = range->first; at < end;) {
        bool is_here = co_chunk_bitmap_has(block->arrived, at);
        uint32_t until = co_chunk_bitmap_find(block->arrived, at, end, !is_here);
        if (is_here) {
            struct co_repair repair = {group, op->number, at, until - at, fetch->source, from};
            queue_repair(group->mcast, &repair);
        } else if (from == group->right) {
            park(op, fetch->source, at, until);
            op->passes_all = op->passes_all || fetch->why == CO_FETCH_DEAF;
        }
        at = until;
    }
}

// A full store forgets: the neighbour asks again.
static void keep_early(struct co_mcast_group *group, const struct co_fetch_body *fetch,
                       const struct co_control *control, const uint8_t *body)
{
    struct co_fetch_range first, last;
    if (control->entries == 0 || group->early_fetch_count == CO_EARLY_FETCHES) {
        return;
    }
    co_wire_range_decode(&first, body, 0);
    co_wire_range_decode(&last, body, control->entries - 1U);
    uint64_t end = (uint64_t)last.first + last.count;
    if (end <= first.first || end > UINT32_MAX) {
        return;
    }
    uint32_t operation = control->operation;
    struct co_early_fetch early = {operation, *fetch, {first.first, (uint32_t)end - first.first}};
    for (unsigned i = 0; i < group->early_fetch_count; i++) {
        if (group->early_fetches[i].operation == operation && group->early_fetches[i].body.source == fetch->source) {
            group->early_fetches[i] = early;
            return;
        }
    }
    group->early_fetches[group->early_fetch_count++] = early;
}

// Answers what the right neighbour asked before the operation began here.
void co_repair_start(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    unsigned kept = 0;
    for (unsigned i = 0; i < group->early_fetch_count; i++) {
        struct co_early_fetch early = group->early_fetches[i];
        if (early.operation == op->number) {
            serve_range(op, group->right, &early.body, &early.range);
        } else if (!co_serial_before(early.operation, op->number)) {
            group->early_fetches[kept++] = early;
        }
    }
    group->early_fetch_count = kept;
}

void co_repair_take_fetch(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body)
{
    struct co_fetch_body fetch;
    co_wire_fetch_decode(&fetch, body);
    struct co_mcast_op *op = co_operation_find(group, control->operation);
    if (op == NULL && from == group->right && !co_serial_before(control->operation, group->next_operation)) {
        keep_early(group, &fetch, control, body);
        return;
    }
    if (op == NULL || op->state < 0) {
        return; // not begun here, or over: the asker tries again or elsewhere
    }
    co_counter_add(CO_COUNT_FETCH_SERVED, 1);
    for (unsigned i = 0; i < control->entries; i++) {
        struct co_fetch_range range;
        co_wire_range_decode(&range, body, i);
        serve_range(op, from, &fetch, &range);
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
        int sent = co_repairs_send(op, repair->source, repair->first, repair->count, repair->to);
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
