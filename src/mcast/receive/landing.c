// SPDX-License-Identifier: BSD-3-Clause
//
// A long broadcast that comes in order need not be copied: its chunks have a place in the program's buffer before they
// come (S1, section 3.2, has the adapter write them there). Only where the tag does not cover the payload, or a
// datagram would have to be put together again to be verified. Nothing of the buffer behind the highest PSN has
// arrived, so whatever is written there by mistake, or by malice, is overwritten before the operation can be complete.
// In an allgather that is collected the own part stands there and may have to be sent again: that one is copied. Hot.
#include "mcast/receive/landing.h"

#include "mcast/state/endpoint.h"

#define CHUNKS_LEFT 8 // fewer are not worth it

static const struct co_receive_block *block_of(const struct co_mcast *mcast)
{
    return &mcast->stream->blocks[0];
}

bool co_landing_expects(void *arg, unsigned subgroup, struct co_landing *landing)
{
    struct co_mcast *mcast = arg;
    const struct co_mcast_op *op = mcast->stream;
    (void)subgroup; // there is one alone
    if (op == NULL || op->state != 0 || block_of(mcast)->chunks - block_of(mcast)->next_psn < CHUNKS_LEFT) {
        return false;
    }
    const struct co_receive_block *block = block_of(mcast);
    size_t done = (size_t)block->next_psn * mcast->config.chunk_bytes;
    struct co_chunk first = {.source = (uint16_t)op->root,
                             .chunk_bytes = (uint16_t)mcast->config.chunk_bytes,
                             .team = (uint32_t)op->group->team_id,
                             .operation = op->number,
                             .block_bytes = block->bytes};
    co_wire_chunk_encode(mcast->landing_head, &first);
    mcast->landing_psn = block->next_psn;
    mcast->landing_at = op->buffer + block->offset + done;
    *landing = (struct co_landing){.at = mcast->landing_at,
                                   .bytes = block->bytes - done,
                                   .head_bytes = CO_WIRE_HEAD_BYTES,
                                   .payload_bytes = (uint32_t)mcast->config.chunk_bytes,
                                   .tail_bytes = (uint32_t)mcast->tag_bytes,
                                   .first_batch = mcast->batch_room - block->next_psn % mcast->batch_room,
                                   .batch = mcast->batch_room};
    return true;
}

bool co_landing_is_expected(void *arg, const uint8_t *data, size_t bytes, uint32_t place)
{
    const struct co_mcast *mcast = arg;
    uint32_t psn = mcast->landing_psn + place;
    size_t full = mcast->config.chunk_bytes, left = block_of(mcast)->bytes - psn * full;
    return bytes == CO_WIRE_HEAD_BYTES + (left < full ? left : full) + mcast->tag_bytes &&
           co_wire_is_first_of(data, mcast->landing_head, psn);
}

void co_landing_open(struct co_mcast *mcast, const struct co_lander *lander)
{
    const struct co_transport_ops *ops = mcast->transport->ops;
    mcast->lands = ops->land != NULL && mcast->config.subgroups == 1 && !co_auth_covers_payload(mcast->config.auth) &&
                   ops->land(mcast->transport, lander) == 0;
}

void co_landing_follow(struct co_mcast_op *op)
{
    struct co_mcast *mcast = op->group->mcast;
    if (mcast->lands && op->root >= 0 && op->parts == NULL && op->blocks[0].chunks >= CHUNKS_LEFT) {
        mcast->stream = op;
    }
}

void co_landing_begin(struct co_mcast_op *op)
{
    const struct co_mcast_op *stream = op->group->mcast->stream;
    if (stream == NULL || stream->state != 0) {
        co_landing_follow(op);
    }
}

void co_landing_forget(const struct co_mcast_op *op)
{
    struct co_mcast *mcast = op->group->mcast;
    if (mcast->stream == op) {
        mcast->stream = NULL;
    }
}
