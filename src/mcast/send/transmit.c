// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks out of a buffer: first transmissions to the subgroups, as many as may leave, and repairs to one peer. Payload
// leaves from where it stands; heads and tags are built beside it for one batch at a time. Hot.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/send/block_end.h"
#include "mcast/send/send_room.h"

int co_send_batch_open(struct co_send_batch *batch, struct co_auth *auth, unsigned room)
{
    batch->auth = auth;
    batch->heads = calloc(room, sizeof(*batch->heads));
    batch->tails = calloc(room, sizeof(*batch->tails));
    batch->datagrams = calloc(room, sizeof(*batch->datagrams));
    return batch->heads == NULL || batch->tails == NULL || batch->datagrams == NULL ? -ENOMEM : 0;
}

void co_send_batch_close(struct co_send_batch *batch)
{
    free(batch->heads);
    free(batch->tails);
    free(batch->datagrams);
}

// Chunks `first` on of a block in the operation's buffer; `as` says whose they are and why they are sent. Looks at
// nothing of the operation that changes while it is under way: the sending thread does it without the engine.
static void fill_batch(struct co_send_batch *batch, const struct co_mcast_op *op, const struct co_receive_block *block,
                       const struct co_chunk *as, uint32_t first, unsigned count)
{
    struct co_mcast_group *group = op->group;
    const struct co_mcast *mcast = group->mcast;
    bool is_own = block == co_operation_block((struct co_mcast_op *)op, group->self);
    const struct co_region *region = is_own ? op->region : NULL;
    size_t full = mcast->config.chunk_bytes;
    struct co_chunk chunk = *as;
    chunk.chunk_bytes = (uint16_t)full;
    chunk.team = (uint32_t)group->team_id;
    chunk.operation = op->number;
    chunk.block_bytes = block->bytes;
    for (unsigned i = 0; i < count; i++) {
        chunk.psn = first + i;
        size_t start = (size_t)chunk.psn * full;
        size_t bytes = block->bytes - start < full ? block->bytes - start : full;
        const uint8_t *payload = op->buffer + block->offset + start;
        uint8_t nonce[CO_AUTH_NONCE_BYTES];
        co_wire_chunk_encode(batch->heads[i], &chunk);
        co_wire_chunk_nonce(nonce, &chunk);
        co_auth_seal(batch->auth, co_chunk_domain(&chunk), group->members[chunk.source], group->team_id, nonce,
                     batch->heads[i], CO_WIRE_HEAD_BYTES, payload, bytes, batch->tails[i]);
        batch->datagrams[i] = (struct co_tx_datagram){.head = batch->heads[i],
                                                      .payload = payload,
                                                      .tail = batch->tails[i],
                                                      .region = region,
                                                      .head_bytes = CO_WIRE_HEAD_BYTES,
                                                      .payload_bytes = (uint32_t)bytes,
                                                      .tail_bytes = (uint32_t)mcast->tag_bytes,
                                                      .immediate = chunk.psn};
    }
}

// At most a batch. Returns how many left, or -errno.
static int send_some(struct co_mcast_op *op, const struct co_receive_block *block, const struct co_chunk *as,
                     uint32_t first, uint32_t count, struct co_destination to)
{
    struct co_mcast *mcast = op->group->mcast;
    if (count > mcast->batch_room) {
        count = mcast->batch_room;
    }
    fill_batch(&mcast->batch, op, block, as, first, count);
    int sent = mcast->transport->ops->send(mcast->transport, to, mcast->batch.datagrams, count);
    if (sent >= 0 && (uint32_t)sent < count) {
        co_counter_add(CO_COUNT_BACKPRESSURE, 1);
        mcast->wants_write = true;
    }
    return sent;
}

static struct co_chunk repair_chunk(const struct co_mcast_op *op, const struct co_retransmit *repair)
{
    return (struct co_chunk){.source = repair->source,
                             .way = co_operation_way_said(op, repair->source),
                             .is_repair = true,
                             .label = repair->label};
}

int co_transmit_repairs(struct co_mcast_op *op, const struct co_retransmit *repair)
{
    struct co_destination to = {CO_TO_PEER, (unsigned)op->group->members[repair->to]};
    struct co_chunk as = repair_chunk(op, repair);
    return send_some(op, co_operation_block(op, repair->source), &as, repair->first, repair->count, to);
}

void co_repair_tag(struct co_mcast_op *op, const struct co_retransmit *repair, uint32_t psn,
                   uint8_t tag[CO_AUTH_TAG_MAX])
{
    struct co_mcast *mcast = op->group->mcast;
    struct co_chunk as = repair_chunk(op, repair);
    fill_batch(&mcast->batch, op, co_operation_block(op, repair->source), &as, psn, 1);
    memcpy(tag, mcast->batch.tails[0], mcast->tag_bytes);
}

// To the collector, until the queue is full. Returns how many left.
uint32_t co_contribution_send(struct co_mcast_op *op, const struct co_receive_block *part, uint32_t first)
{
    struct co_destination to = {CO_TO_PEER, (unsigned)op->group->members[op->root]};
    struct co_chunk as = {.source = (uint16_t)op->group->self, .way = op->way_called, .is_contribution = true};
    uint32_t at = first;
    while (at < part->chunks) {
        int sent = send_some(op, part, &as, at, part->chunks - at, to);
        if (sent <= 0) {
            break;
        }
        at += (uint32_t)sent;
    }
    return at - first;
}

static uint8_t credit_shift(const struct co_mcast_op *op)
{
    return co_send_window_credit_shift(&op->group->window, (uint32_t)co_operation_senders(op));
}

static const struct co_receive_block *own_block(const struct co_mcast_op *op)
{
    return co_operation_block((struct co_mcast_op *)op, op->group->self);
}

static size_t bytes_of(const struct co_mcast_op *op, uint32_t first, uint32_t count, size_t chunk_bytes)
{
    const struct co_receive_block *block = own_block(op);
    size_t end = (size_t)(first + count) * chunk_bytes;
    return (end < block->bytes ? end : block->bytes) - (size_t)first * chunk_bytes;
}

// What of the own block may leave now: at most a batch, whole batches to one subgroup. False: the window is closed.
static bool next_part(struct co_mcast_op *op, struct co_send_part *part)
{
    const struct co_mcast *mcast = op->group->mcast;
    uint32_t left = op->send_chunks - op->next_psn, room = co_operation_room(op);
    if (room == 0) {
        return false;
    }
    uint32_t count = left < room ? left : room, batch = mcast->batch_room - op->next_psn % mcast->batch_room;
    *part = (struct co_send_part){.op = op,
                                  .first = op->next_psn,
                                  .count = count < batch ? count : batch,
                                  .credit_shift = credit_shift(op),
                                  .begun_ns = mcast->now_ns,
                                  .subgroup = co_mcast_subgroup(mcast, op->next_psn)};
    return true;
}

bool co_transmit_account(const struct co_send_part *part)
{
    struct co_mcast_op *op = part->op;
    struct co_mcast *mcast = op->group->mcast;
    if (part->sent <= 0) {
        return false;
    }
    uint32_t sent = (uint32_t)part->sent;
    co_counter_add(CO_COUNT_DATA_SENT, sent);
    co_counter_add(CO_COUNT_DATA_SENT_BYTES, bytes_of(op, part->first, sent, mcast->config.chunk_bytes));
    op->group->mcast->sent_turn++;
    op->next_psn += sent;
    co_send_window_sent(&op->group->window, (uint32_t)co_operation_senders(op), sent, op->group->delivered,
                        op->next_psn == op->send_chunks, part->begun_ns);
    op->last_sent_ns = op->last_event_ns = mcast->now_ns;
    mcast->events++;
    mcast->advances++;
    if (op->next_psn == sent) {
        co_block_end_begins(op);
    }
    if (op->next_psn == op->send_chunks) {
        co_block_end_left(op);
    }
    return sent == part->count;
}

static struct co_chunk own_chunk(const struct co_send_part *part)
{
    int self = part->op->group->self;
    return (struct co_chunk){
        .source = (uint16_t)self, .way = co_operation_way_said(part->op, self), .credit_shift = part->credit_shift};
}

void co_operation_transmit(struct co_mcast_op *op)
{
    struct co_send_part part;
    while (op->next_psn < op->send_chunks && next_part(op, &part)) {
        struct co_destination to = {CO_TO_GROUP, part.subgroup};
        struct co_chunk as = own_chunk(&part);
        part.sent = send_some(op, own_block(op), &as, part.first, part.count, to);
        if (!co_transmit_account(&part)) {
            return;
        }
    }
}

bool co_mcast_send_begin(struct co_mcast *mcast, uint64_t now_ns)
{
    mcast->now_ns = now_ns;
    for (struct co_mcast_group *group = mcast->active; group != NULL; group = group->next_active) {
        struct co_mcast_op *op = co_operation_for_sender(group);
        if (op != NULL && next_part(op, &mcast->part)) {
            op->is_sending = true;
            return true;
        }
    }
    return false;
}

void co_mcast_send_run(struct co_mcast *mcast)
{
    struct co_send_part *part = &mcast->part;
    struct co_destination to = {CO_TO_GROUP, part->subgroup};
    struct co_chunk as = own_chunk(part);
    fill_batch(&mcast->sender_batch, part->op, own_block(part->op), &as, part->first, part->count);
    part->sent = mcast->transport->ops->send(mcast->transport, to, mcast->sender_batch.datagrams, part->count);
}
