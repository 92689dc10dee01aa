// SPDX-License-Identifier: BSD-3-Clause
//
// The slow path, the holder's side: ranges are served to whoever asks. A neighbour that lacks a chunk too remembers who
// wants it and passes it on when its own repair brings it, so in the worst case this is the ring algorithm (S1, section
// 3.3). A wanted chunk that comes by multicast is not passed on: the asker most likely heard it as well. Cold without
// loss.
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/repair/rdma_repair_offer.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/control_send.h"

static bool is_queued(const struct co_mcast *mcast, const struct co_retransmit *repair)
{
    for (unsigned i = mcast->repair_head; i != mcast->repair_tail; i++) {
        const struct co_retransmit *other = &mcast->repairs[i % CO_RETRANSMIT_QUEUE];
        if (other->group == repair->group && other->operation == repair->operation && other->source == repair->source &&
            other->to == repair->to && other->first <= repair->first &&
            other->first + other->count >= repair->first + repair->count) {
            return true;
        }
    }
    return false;
}

// A full queue drops what is asked, since the asker will ask again.
static void queue_answer(struct co_mcast *mcast, const struct co_retransmit *repair)
{
    if (mcast->repair_tail - mcast->repair_head < CO_RETRANSMIT_QUEUE) {
        mcast->repairs[mcast->repair_tail++ % CO_RETRANSMIT_QUEUE] = *repair;
        mcast->timer_ns = 0;
    }
}

static void queue_repair(struct co_mcast *mcast, const struct co_retransmit *repair)
{
    if (mcast->repair_tail != mcast->repair_head) {
        struct co_retransmit *last = &mcast->repairs[(mcast->repair_tail - 1) % CO_RETRANSMIT_QUEUE];
        if (last->group == repair->group && last->operation == repair->operation && last->source == repair->source &&
            last->label == repair->label && last->to == repair->to && last->by_read == repair->by_read &&
            last->count > 0 && last->first + last->count == repair->first) {
            last->count += repair->count;
            return;
        }
    }
    if (!is_queued(mcast, repair)) {
        queue_answer(mcast, repair);
    }
}

static void defer(struct co_mcast_op *op, int source, uint32_t first, uint32_t last)
{
    int index = op->root >= 0 ? 0 : source;
    if (op->wanted == NULL) {
        op->wanted = calloc((size_t)op->block_count, sizeof(*op->wanted));
    }
    if (op->wanted == NULL) {
        return; // the asker will ask again
    }
    if (op->wanted[index] == NULL) {
        size_t words = co_chunk_bitmap_words(op->blocks[index].chunks);
        op->wanted[index] = calloc(words, sizeof(uint64_t));
        if (op->wanted[index] == NULL) {
            return;
        }
        co_operation_count_bitmap(op, words * sizeof(uint64_t));
    }
    for (uint32_t psn = first; psn < last; psn++) {
        co_chunk_bitmap_set(op->wanted[index], psn);
    }
    co_counter_add(CO_COUNT_NACKS_DEFERRED, 1);
}

// The word that not all of it is here, in its place among the answers; so many of the block are `known` to be sent.
static void queue_deferred(struct co_mcast_group *group, int to, uint32_t operation, const struct co_nack_body *nack,
                           uint32_t known)
{
    struct co_retransmit deferred = {
        .group = group, .operation = operation, .first = known, .source = nack->source, .label = nack->label, .to = to};
    queue_answer(group->mcast, &deferred);
}

// Who only guesses that our chunks are lost is about to get them, unless we have stopped for want of credit.
static bool is_stuck(const struct co_mcast_op *op)
{
    const struct co_mcast_group *group = op->group;
    return group->is_stalled && group->mcast->now_ns - op->last_sent_ns >= co_control_timeout_ns(group->mcast);
}

// Who guesses about a long block is told how much of it has been sent: the word follows the chunks through the queues,
// however slow, and whoever still misses some when it comes asks in earnest. Short blocks are not worth the detour.
static bool is_told(const struct co_receive_block *block, const struct co_nack_body *nack)
{
    return nack->why == CO_NACK_GUESS && co_receive_block_is_long(block);
}

// How many chunks of the block an asker is told of. Of the own one nothing is said that the next chunk says sooner.
static uint32_t told_sent(struct co_mcast_op *op, const struct co_nack_body *nack)
{
    const struct co_receive_block *block = co_operation_block(op, nack->source);
    if (block == NULL || !is_told(block, nack)) {
        return 0;
    }
    if (nack->source != op->group->self) {
        return block->next_psn;
    }
    return op->next_psn == op->send_chunks || is_stuck(op) ? op->next_psn : 0;
}

// What was sent last has not had its time yet. Of those who take turns that is the asker's to say, to whose port
// nothing of anybody comes any more. The source knows less: of a block that leaves in one turn it is told when the last
// member has noticed that its end was lost, and such trips do not measure the path.
static bool is_under_way(const struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    if (op->turns.senders > 0) {
        return false;
    }
    uint64_t rtt_ns = co_send_window_rtt_ns(&group->window, (uint32_t)co_operation_senders(op));
    return op->send_chunks > 0 && group->mcast->now_ns - op->last_sent_ns < rtt_ns;
}

// Up to where an asked range of our own block is answered: the rest is yet to be sent.
static uint32_t answerable(struct co_mcast_op *op, int from, const struct co_nack_body *nack, uint32_t first,
                           uint32_t end)
{
    uint32_t limit = nack->why == CO_NACK_GUESS && is_under_way(op) ? first : op->next_psn;
    limit = op->send_chunks == 0 || limit > end ? end : limit < first ? first : limit;
    if (limit < end && nack->why == CO_NACK_DEAF && from == op->group->right) {
        defer(op, nack->source, limit, end);
    }
    return limit;
}

// Splits an asked range into what is here (queued) and what is not (deferred for the right neighbour). True: all is
// here.
static bool serve_range(struct co_mcast_op *op, int from, const struct co_nack_body *nack,
                        const struct co_nack_range *range)
{
    struct co_mcast_group *group = op->group;
    struct co_receive_block *block = co_operation_block(op, nack->source);
    if (block == NULL || range->count == 0 || range->first >= block->chunks) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return true;
    }
    // Who was called with another length than we may ask beyond the end.
    uint32_t left = block->chunks - range->first, end = range->first + (range->count < left ? range->count : left);
    bool is_all_here = !is_told(block, nack), by_read = nack->can_read && co_rdma_repair_may_offer(op, from);
    if (nack->source == group->self) {
        uint32_t limit = answerable(op, from, nack, range->first, end);
        is_all_here = is_all_here && limit == end;
        end = limit;
    }
    for (uint32_t at = range->first; at < end;) {
        bool is_here = co_chunk_bitmap_has(block->arrived, at);
        uint32_t until = co_chunk_bitmap_find(block->arrived, at, end, !is_here);
        if (is_here && is_told(block, nack)) {
            // it is on its way, or asked for in earnest
        } else if (is_here) {
            struct co_retransmit repair = {group, op->number, at, until - at, nack->source, nack->label, by_read, from};
            queue_repair(group->mcast, &repair);
        } else if (from == group->right) {
            defer(op, nack->source, at, until);
            op->passes_all = op->passes_all || nack->why == CO_NACK_DEAF;
        }
        is_all_here = is_all_here && is_here;
        at = until;
    }
    return is_all_here;
}

// New requests of one block are for chunks beyond those of earlier ones; where they overlap somebody asks again.
static bool is_asked_again(const struct co_early_nack *before, const struct co_early_nack *now)
{
    const struct co_nack_range *last_before = &before->ranges[before->count - 1], *last = &now->ranges[now->count - 1];
    return before->operation == now->operation && before->body.source == now->body.source &&
           before->ranges[0].first < (uint64_t)last->first + last->count &&
           now->ranges[0].first < (uint64_t)last_before->first + last_before->count;
}

// A full store forgets: the neighbour asks again.
static void keep_early(struct co_mcast_group *group, const struct co_nack_body *nack, const struct co_control *control,
                       const uint8_t *body)
{
    unsigned count = control->entries;
    struct co_early_nack *early = count == 0 ? NULL : malloc(sizeof(*early) + count * sizeof(early->ranges[0]));
    if (early == NULL) {
        return;
    }
    *early = (struct co_early_nack){.operation = control->operation, .body = *nack, .count = count};
    early->body.label = 0; // the answer comes when the operation begins, which is no round trip
    for (unsigned i = 0; i < count; i++) {
        co_wire_range_decode(&early->ranges[i], body, i);
    }
    unsigned kept = 0;
    struct co_early_nack **link = &group->early_nacks;
    while (*link != NULL) {
        struct co_early_nack *before = *link;
        if (is_asked_again(before, early)) {
            *link = before->next;
            free(before);
            continue;
        }
        kept++;
        link = &before->next;
    }
    *link = early;
    if (kept == CO_EARLY_NACKS) {
        *link = NULL;
        free(early);
    }
}

// Answers what the right neighbour asked before the operation began here.
void co_retransmit_open(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    for (struct co_early_nack **link = &group->early_nacks; *link != NULL;) {
        struct co_early_nack *early = *link;
        if (co_serial_before(op->number, early->operation)) {
            link = &early->next;
            continue;
        }
        for (unsigned i = 0; i < early->count && early->operation == op->number; i++) {
            serve_range(op, group->right, &early->body, &early->ranges[i]);
        }
        uint32_t told = early->operation == op->number ? told_sent(op, &early->body) : 0;
        if (told > 0) {
            queue_deferred(group, group->right, op->number, &early->body, told);
        }
        *link = early->next;
        free(early);
    }
}

void co_nack_receive(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body)
{
    struct co_nack_body nack;
    co_wire_nack_decode(&nack, body);
    struct co_mcast_op *op = co_operation_find(group, control->operation);
    if (op == NULL && from == group->right && !co_serial_before(control->operation, group->next_operation)) {
        keep_early(group, &nack, control, body);
        queue_deferred(group, from, control->operation, &nack, 0);
        return;
    }
    if (op == NULL || !co_operation_has_bytes(op)) {
        return; // not begun here, or over: the asker tries again or elsewhere
    }
    co_counter_add(CO_COUNT_NACKS_ANSWERED, 1);
    bool is_all_here = true;
    for (unsigned i = 0; i < control->entries; i++) {
        struct co_nack_range range;
        co_wire_range_decode(&range, body, i);
        is_all_here = serve_range(op, from, &nack, &range) && is_all_here;
    }
    if (!is_all_here) {
        queue_deferred(group, from, op->number, &nack, told_sent(op, &nack));
    }
}

void co_retransmit_forward(struct co_mcast_op *op, int source, uint32_t psn)
{
    int index = op->root >= 0 ? 0 : source;
    uint64_t *wanted = op->wanted[index];
    if (wanted != NULL && co_chunk_bitmap_has(wanted, psn)) {
        co_chunk_bitmap_clear(wanted, psn);
        struct co_retransmit repair = {.group = op->group,
                                       .operation = op->number,
                                       .first = psn,
                                       .count = 1,
                                       .source = (uint16_t)source,
                                       .to = op->group->right};
        queue_repair(op->group->mcast, &repair);
    }
}

// A deaf neighbour gets at once what the others hear.
void co_retransmit_forward_sent(struct co_mcast_op *op, uint32_t first)
{
    for (uint32_t psn = first; psn < op->next_psn && op->wanted != NULL; psn++) {
        co_retransmit_forward(op, op->group->self, psn);
    }
}

static int send_deferred(const struct co_retransmit *repair)
{
    uint8_t body[CO_CONTROL_MAX];
    struct co_nack_body nack = {.source = repair->source, .label = repair->label};
    struct co_nack_range known = {0, repair->first};
    unsigned count = known.count > 0 ? 1 : 0;
    size_t bytes = co_wire_nack_encode(body, &nack, &known, count);
    return co_control_send_member(repair->group, repair->to, CO_CONTROL_NACK_DEFERRED, repair->operation,
                                  (uint16_t)count, body, bytes);
}

// How many chunks left, 0: the queue is full; negative: it has no end to wait for.
static int send_repair(struct co_retransmit *repair)
{
    struct co_mcast_op *op = co_operation_find(repair->group, repair->operation);
    if (op == NULL || !co_operation_has_bytes(op)) {
        return -ESTALE;
    }
    struct co_mcast *mcast = repair->group->mcast;
    int sent = co_transmit_repairs(op, repair);
    for (int i = 0; i < sent; i++) {
        co_counter_add(CO_COUNT_RETRANSMITTED, mcast->batch.datagrams[i].payload_bytes);
    }
    return sent;
}

// The first answer of the queue, as far as it goes. False: the local queue is full.
static bool serve_first(struct co_mcast *mcast)
{
    struct co_retransmit *repair = &mcast->repairs[mcast->repair_head % CO_RETRANSMIT_QUEUE];
    if (repair->group != NULL && repair->by_read) {
        return co_rdma_repair_offer(mcast) != 0; // which takes it off the queue, or leaves it to be sent
    }
    int sent = repair->group == NULL ? -ESTALE : repair->count == 0 ? send_deferred(repair) : send_repair(repair);
    if (sent < 0 || (sent > 0 && (uint32_t)sent >= repair->count)) {
        mcast->repair_head++;
    } else {
        repair->first += (uint32_t)sent;
        repair->count -= (uint32_t)sent;
    }
    return sent != 0;
}

void co_retransmit_progress(struct co_mcast *mcast)
{
    while (mcast->repair_head != mcast->repair_tail) {
        if (!serve_first(mcast)) {
            mcast->wants_write = true;
            return;
        }
        mcast->events++;
    }
}

// Where the queue before the link is always full, whoever comes first has all of it: so they take turns.
void co_retransmit_in_turn(struct co_mcast *mcast)
{
    if (mcast->repair_turn != mcast->sent_turn && mcast->repair_head != mcast->repair_tail && serve_first(mcast)) {
        mcast->repair_turn = mcast->sent_turn;
        mcast->events++;
    }
}

// A group that goes away leaves nothing behind that points to it; what is queued for an operation that is gone is
// skipped when its turn comes.
void co_retransmit_drop(struct co_mcast_group *group)
{
    struct co_mcast *mcast = group->mcast;
    for (unsigned i = mcast->repair_head; i != mcast->repair_tail; i++) {
        if (mcast->repairs[i % CO_RETRANSMIT_QUEUE].group == group) {
            mcast->repairs[i % CO_RETRANSMIT_QUEUE].group = NULL;
        }
    }
    while (group->early_nacks != NULL) {
        struct co_early_nack *early = group->early_nacks;
        group->early_nacks = early->next;
        free(early);
    }
}
