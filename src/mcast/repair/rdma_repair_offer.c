// SPDX-License-Identifier: BSD-3-Clause
//
// Repair by reading the neighbour's memory, the holder's side: the right neighbour is told where the chunks stand that
// he has asked for, and their tags, and reads them without another word. What is lent stays as it is until he has said
// that the operation is complete, which the end of an operation waits for anyway. Where nothing can be lent the chunks
// are sent. Cold without loss.
#include <errno.h>
#include <stdlib.h>

#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/repair/rdma_repair_offer.h"
#include "mcast/send/control_send.h"

#define LENT_MOST 58U // chunks of one message
#define SPARSE 64     // times the chunks' bytes: pinning more around them is dearer than sending them

struct co_op_export {
    struct co_op_export *next;
    size_t start, end; // in the operation's buffer
    uint32_t key;
    struct co_loan *loan;
};

void co_rdma_repair_withdraw(struct co_mcast_op *op)
{
    struct co_reads *reads = op->group->mcast->transport->reads;
    while (op->exports != NULL) {
        struct co_op_export *loan = op->exports;
        op->exports = loan->next;
        reads->ops->take_back(reads, loan->loan);
        free(loan);
    }
}

// A small operation's buffer is not waited for: it is the program's again as soon as a copy is kept.
bool co_rdma_repair_may_offer(const struct co_mcast_op *op, int to)
{
    const struct co_mcast_group *group = op->group;
    const struct co_reads *reads = group->mcast->transport->reads;
    return reads != NULL && to == group->right && !op->right_has_it && op->failure == 0 &&
           (op->is_kept || op->bytes > group->mcast->config.eager_bytes) &&
           reads->ops->is_connected(reads, group->members[to]);
}

static const struct co_op_export *find_loan(const struct co_mcast_op *op, size_t start, size_t end)
{
    const struct co_op_export *loan = op->exports;
    while (loan != NULL && (loan->start > start || loan->end < end)) {
        loan = loan->next;
    }
    return loan;
}

// NULL: it cannot be lent.
static const struct co_op_export *region_export(struct co_mcast_op *op, size_t start, size_t end, bool may_change)
{
    struct co_reads *reads = op->group->mcast->transport->reads;
    struct co_op_export *loan = malloc(sizeof(*loan));
    if (loan == NULL) {
        return NULL;
    }
    *loan = (struct co_op_export){.next = op->exports, .start = start, .end = end};
    if (reads->ops->lend(reads, &loan->loan, op->buffer + start, end - start, may_change, &loan->key) != 0) {
        free(loan);
        return NULL;
    }
    op->exports = loan;
    return loan;
}

// The next answers of the queue, as many as are of one kind and fit into a message.
struct batch {
    unsigned answers; // touched
    unsigned count;   // chunks
    uint32_t psn[LENT_MOST];
    uint32_t first, end; // of all of them
};

static bool is_alike(const struct co_retransmit *a, const struct co_retransmit *b)
{
    return b->by_read && a->group == b->group && a->operation == b->operation && a->source == b->source &&
           a->to == b->to && a->label == b->label;
}

static struct batch gather(const struct co_mcast *mcast)
{
    struct batch batch = {.first = UINT32_MAX};
    const struct co_retransmit *head = &mcast->repairs[mcast->repair_head % CO_RETRANSMIT_QUEUE];
    for (unsigned i = mcast->repair_head; i != mcast->repair_tail && batch.count < LENT_MOST; i++) {
        const struct co_retransmit *repair = &mcast->repairs[i % CO_RETRANSMIT_QUEUE];
        if (!is_alike(head, repair)) {
            break;
        }
        batch.answers++;
        for (uint32_t k = 0; k < repair->count && batch.count < LENT_MOST; k++) {
            uint32_t psn = repair->first + k;
            batch.psn[batch.count++] = psn;
            batch.first = psn < batch.first ? psn : batch.first;
            batch.end = psn + 1 > batch.end ? psn + 1 : batch.end;
        }
    }
    return batch;
}

static void consume(struct co_mcast *mcast, uint32_t chunks)
{
    while (chunks > 0) {
        struct co_retransmit *repair = &mcast->repairs[mcast->repair_head % CO_RETRANSMIT_QUEUE];
        uint32_t taken = repair->count < chunks ? repair->count : chunks;
        repair->first += taken;
        repair->count -= taken;
        chunks -= taken;
        mcast->repair_head += repair->count == 0;
    }
}

static int refuse(struct co_mcast *mcast, const struct batch *batch)
{
    for (unsigned i = 0; i < batch->answers; i++) {
        mcast->repairs[(mcast->repair_head + i) % CO_RETRANSMIT_QUEUE].by_read = false;
    }
    return -ENOTSUP;
}

static int tell(struct co_mcast_op *op, const struct co_retransmit *repair, const struct batch *batch,
                const struct co_op_export *loan)
{
    const struct co_receive_block *block = co_operation_block(op, repair->source);
    struct co_read_offer_body offer = {.source = repair->source,
                                       .way = co_operation_way_said(op, repair->source),
                                       .label = repair->label,
                                       .key = loan->key,
                                       .address = (uintptr_t)op->buffer + block->offset,
                                       .block_bytes = block->bytes};
    uint8_t body[CO_CONTROL_MAX];
    co_wire_read_offer_encode(body, &offer);
    for (unsigned i = 0; i < batch->count; i++) {
        struct co_read_offer_chunk chunk = {.psn = batch->psn[i]};
        co_repair_tag(op, repair, chunk.psn, chunk.tag);
        co_wire_read_offer_chunk_encode(body, &chunk, i);
    }
    return co_control_send_member(op->group, repair->to, CO_CONTROL_READ_OFFER, op->number, (uint16_t)batch->count,
                                  body, co_wire_read_offer_bytes(batch->count));
}

int co_rdma_repair_offer(struct co_mcast *mcast)
{
    _Static_assert(LENT_MOST <= (CO_CONTROL_MAX - 24) / 20, "a message");
    const struct co_retransmit repair = mcast->repairs[mcast->repair_head % CO_RETRANSMIT_QUEUE];
    struct batch batch = gather(mcast);
    struct co_mcast_op *op = co_operation_find(repair.group, repair.operation);
    if (op == NULL || !co_operation_has_bytes(op) || !co_rdma_repair_may_offer(op, repair.to)) {
        return refuse(mcast, &batch);
    }
    const struct co_receive_block *block = co_operation_block(op, repair.source);
    size_t full = mcast->config.chunk_bytes, last = (size_t)batch.end * full;
    size_t start = block->offset + batch.first * full;
    size_t end = block->offset + (last < block->bytes ? last : block->bytes);
    const struct co_op_export *loan = find_loan(op, start, end);
    if (loan == NULL && end - start <= SPARSE * batch.count * full) {
        loan = region_export(op, start, end, repair.source != op->group->self);
    }
    if (loan == NULL) {
        return refuse(mcast, &batch);
    }
    int sent = tell(op, &repair, &batch, loan);
    if (sent != 0) {
        consume(mcast, batch.count);
    }
    return sent == 0 ? 0 : (int)batch.count;
}
