// SPDX-License-Identifier: BSD-3-Clause
//
// Repair by reading the neighbour's memory, the asker's side: chunks that the left neighbour has lent are read, each
// between the head and the tag that it would have come with, so that it arrives, is verified and is placed as a repair
// that was sent. What is not read is asked for again by the clock, and then comes by datagrams. Cold without loss.
#include <string.h>

#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/repair/loss_detector.h"
#include "mcast/repair/rdma_repair_read.h"

bool co_rdma_repair_can_read(const struct co_mcast_group *group, int holder, const struct co_nack *request)
{
    const struct co_mcast *mcast = group->mcast;
    const struct co_reads *reads = mcast->transport->reads;
    uint64_t chunks = 0;
    if (reads == NULL || mcast->config.read_bytes == 0 || request->is_retry || holder != group->left) {
        return false;
    }
    for (unsigned i = 0; i < request->count; i++) {
        chunks += request->ranges[i].count;
    }
    return chunks * mcast->config.chunk_bytes >= mcast->config.read_bytes &&
           reads->ops->is_connected(reads, group->members[holder]);
}

// The neighbour keeps the memory until he is told that the operation is complete here, so it is not while a read of it
// is under way: that counts as one more missing block.
static void await(struct co_mcast_op *op, uint64_t number)
{
    op->last_read = number;
    if (!op->awaits_reads) {
        op->awaits_reads = true;
        op->blocks_missing++;
        op->group->mcast->reading_ops++;
    }
}

void co_rdma_repair_cancel(struct co_mcast_op *op)
{
    if (op->awaits_reads) {
        op->awaits_reads = false;
        op->blocks_missing--;
        op->group->mcast->reading_ops--;
    }
}

bool co_rdma_repair_have_ended(struct co_mcast_op *op)
{
    const struct co_reads *reads = op->group->mcast->transport->reads;
    if (reads->ops->is_under_way(reads, op->last_read)) {
        return false;
    }
    co_rdma_repair_cancel(op);
    return true;
}

// False: no more of them now.
static bool read_chunk(struct co_mcast_op *op, const struct co_read_offer_body *offer,
                       const struct co_read_offer_chunk *wanted)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    struct co_reads *reads = mcast->transport->reads;
    size_t full = mcast->config.chunk_bytes, start = (size_t)wanted->psn * full;
    struct co_chunk chunk = {.source = offer->source,
                             .chunk_bytes = (uint16_t)full,
                             .team = (uint32_t)group->team_id,
                             .operation = op->number,
                             .psn = wanted->psn,
                             .block_bytes = offer->block_bytes,
                             .way = offer->way,
                             .is_repair = true,
                             .label = offer->label};
    uint8_t head[CO_WIRE_HEAD_BYTES];
    uint64_t number;
    co_wire_chunk_encode(head, &chunk);
    struct co_read read = {.peer = group->members[group->left],
                           .key = offer->key,
                           .address = offer->address + start,
                           .bytes = (uint32_t)(offer->block_bytes - start < full ? offer->block_bytes - start : full),
                           .head = head,
                           .tail = wanted->tag,
                           .head_bytes = sizeof(head),
                           .tail_bytes = (uint32_t)mcast->tag_bytes};
    if (reads->ops->read(reads, &read, &number) != 0) {
        return false;
    }
    await(op, number);
    return true;
}

void co_rdma_repair_receive_offer(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    struct co_read_offer_body offer;
    co_wire_read_offer_decode(&offer, body);
    struct co_mcast_op *op = co_operation_find(group, control->operation);
    struct co_receive_block *block = op == NULL ? NULL : co_operation_block(op, offer.source);
    if (group->mcast->transport->reads == NULL || block == NULL || op->state != 0 || op->failure != 0 ||
        block->bytes != offer.block_bytes) {
        return; // over, or of another length, which only chunks that are sent can tell
    }
    for (unsigned i = 0; i < control->entries; i++) {
        struct co_read_offer_chunk chunk;
        co_wire_read_offer_chunk_decode(&chunk, body, i);
        if (chunk.psn < block->chunks && !co_chunk_bitmap_has(block->arrived, chunk.psn) &&
            !read_chunk(op, &offer, &chunk)) {
            return;
        }
    }
}
