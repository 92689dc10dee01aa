// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks out of a buffer: first transmissions to the subgroups within the window, and repairs to one peer. Payload
// leaves from where it stands; heads and tags are built beside it for one batch at a time. Hot.
#include "base/counters.h"
#include "mcast/endpoint.h"

static void fill_batch(struct co_mcast_op *op, int source, uint32_t first, unsigned count, bool is_repair)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    const struct co_receive_block *block = co_operation_block(op, source);
    size_t full = mcast->config.chunk_bytes;
    struct co_chunk chunk = {.source = (uint16_t)source,
                             .chunk_bytes = (uint16_t)full,
                             .team = (uint32_t)group->team_id,
                             .operation = op->number,
                             .block_bytes = block->bytes,
                             .is_repair = is_repair};
    enum co_auth_domain domain = is_repair ? CO_AUTH_REPAIR : CO_AUTH_CHUNK;
    for (unsigned i = 0; i < count; i++) {
        chunk.psn = first + i;
        size_t start = (size_t)chunk.psn * full;
        size_t bytes = block->bytes - start < full ? block->bytes - start : full;
        const uint8_t *payload = op->buffer + block->offset + start;
        uint8_t nonce[CO_AUTH_NONCE_BYTES];
        co_wire_chunk_encode(mcast->heads[i], &chunk);
        co_wire_nonce(nonce, chunk.team, chunk.operation, chunk.psn);
        co_auth_seal(mcast->config.auth, domain, group->members[source], group->team_id, nonce, mcast->heads[i],
                     CO_WIRE_HEAD_BYTES, payload, bytes, mcast->tails[i]);
        mcast->batch[i] = (struct co_tx_datagram){.head = mcast->heads[i],
                                                  .payload = payload,
                                                  .tail = mcast->tails[i],
                                                  .head_bytes = CO_WIRE_HEAD_BYTES,
                                                  .payload_bytes = (uint32_t)bytes,
                                                  .tail_bytes = (uint32_t)mcast->tag_bytes,
                                                  .immediate = chunk.psn};
    }
}

int co_chunks_send(struct co_mcast_op *op, int source, uint32_t first, uint32_t count, struct co_destination to,
                   bool is_repair)
{
    struct co_mcast *mcast = op->group->mcast;
    if (count > mcast->batch_room) {
        count = mcast->batch_room;
    }
    fill_batch(op, source, first, count, is_repair);
    int sent = mcast->transport->ops->send(mcast->transport, to, mcast->batch, count);
    if (sent >= 0 && (uint32_t)sent < count) {
        co_counter_add(CO_COUNT_BACKPRESSURE, 1);
        mcast->wants_write = true;
    }
    return sent;
}

static size_t bytes_of(const struct co_mcast_op *op, uint32_t first, uint32_t count, size_t chunk_bytes)
{
    const struct co_receive_block *block = co_operation_block((struct co_mcast_op *)op, op->group->self);
    size_t end = (size_t)(first + count) * chunk_bytes;
    return (end < block->bytes ? end : block->bytes) - (size_t)first * chunk_bytes;
}

// A window that opened by a crumb waits for more, so that batches stay large; an empty one sends what it may.
static bool is_worth_sending(const struct co_mcast_group *group, uint32_t room, uint32_t left)
{
    uint32_t batch = group->mcast->batch_room < group->quantum ? group->mcast->batch_room : group->quantum;
    return room >= left || room >= batch || group->window.sent == group->window.credited;
}

// Follows the last chunk of a longer block, so that receivers need no timer to know that a missing tail is lost.
static void announce_end(struct co_mcast_op *op, unsigned subgroup)
{
    struct co_mcast_group *group = op->group;
    if (op->send_chunks >= CO_WIRE_ANNOUNCED_CHUNKS) {
        co_control_send(group->mcast, group->team_id, group->self, (struct co_destination){CO_TO_GROUP, subgroup},
                        CO_CONTROL_SENT, op->number, 0, NULL, 0);
    }
}

void co_operation_transmit(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    while (op->next_psn < op->send_chunks) {
        uint32_t left = op->send_chunks - op->next_psn;
        uint32_t room = co_send_window_room(&group->window, (uint32_t)co_operation_senders(op));
        if (room == 0 || !is_worth_sending(group, room, left)) {
            if (!group->is_stalled) {
                group->is_stalled = true;
                co_counter_add(CO_COUNT_WINDOW_STALLS, 1);
            }
            return;
        }
        group->is_stalled = false;
        uint32_t count = left < room ? left : room;
        uint32_t batch = mcast->batch_room - op->next_psn % mcast->batch_room; // whole batches to one subgroup
        count = count < batch ? count : batch;
        unsigned subgroup = op->next_psn / mcast->batch_room % mcast->config.subgroups;
        int sent =
            co_chunks_send(op, group->self, op->next_psn, count, (struct co_destination){CO_TO_GROUP, subgroup}, false);
        if (sent <= 0) {
            return;
        }
        co_counter_add(CO_COUNT_DATA_SENT, (uint64_t)sent);
        co_counter_add(CO_COUNT_DATA_SENT_BYTES, bytes_of(op, op->next_psn, (uint32_t)sent, mcast->config.chunk_bytes));
        op->next_psn += (uint32_t)sent;
        group->window.sent += (uint32_t)sent;
        op->last_event_ns = mcast->now_ns;
        mcast->events++;
        if (op->next_psn == op->send_chunks) {
            announce_end(op, subgroup);
        }
        if ((uint32_t)sent < count) {
            return;
        }
    }
}
