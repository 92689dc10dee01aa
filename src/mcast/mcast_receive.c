// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor's half for what comes: every datagram enters here, and control messages go on to
// control_receive.c; chunks are checked (datagram_verify.c), and what follows from a chunk for its block, operation,
// credit and repair is done here, in this order. Hot.
#include "mcast/mcast_receive.h"

#include <errno.h>

#include "base/counters.h"
#include "mcast/ack/ack.h"
#include "mcast/collect.h"
#include "mcast/control_receive.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/group_end.h"
#include "mcast/state/operation.h"
#include "mcast/operation_length.h"
#include "mcast/operation_progress.h"
#include "mcast/receive/chunk_run.h"
#include "mcast/receive/placement.h"
#include "mcast/receive/datagram_verify.h"
#include "mcast/receive/early_chunks.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/retransmit.h"

// A datagram on its way in.
struct came {
    const uint8_t *data;
    size_t bytes;                           // without the tag
    const uint8_t *payload;                 // which may stand somewhere else
    struct co_receive_lane *lane;           // out of which it comes, NULL: of none
    const struct co_lane_datagram *by_lane; // what that says of it
};

static void contribution_take(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload,
                              size_t bytes)
{
    int status = co_collect_place(op, chunk, payload, bytes);
    if (status < 0) {
        co_operation_fail(op, status);
    } else if (status > 0) {
        op->may_send = true;
        co_operation_own_block_is_here(op);
    }
}

// Authentic, and yet of another shape: the program gave different sizes on different ranks. The credit is for what was
// sent. What is done here is not done where this comes from.
static void chunk_of_other_shape(struct co_mcast_op *op, const struct co_receive_block *block,
                                 const struct co_chunk *chunk, int error)
{
    if (op->failure == 0) {
        uint32_t *received = &op->group->received[chunk->source];
        *received += co_wire_chunk_count(chunk->block_bytes, chunk->chunk_bytes);
        *received -= block == NULL ? 0 : block->chunks;
    }
    if (op->state > 0) {
        co_group_members_disagree(op->group);
        return;
    }
    co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
    co_operation_fail(op, error);
}

static void chunks_placed(struct co_mcast_op *op, const struct co_receive_block *block, int source)
{
    co_ack_changed(op->group, source);
    if (co_receive_block_is_complete(block)) {
        co_operation_block_arrived(op, source);
    }
}

bool co_mcast_take_chunk(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes)
{
    struct co_mcast_group *group = op->group;
    if (chunk->is_contribution) {
        contribution_take(op, chunk, payload, bytes);
        return false;
    }
    struct co_receive_block *block = co_operation_block(op, chunk->source);
    int error = block == NULL                        ? -EMSGSIZE
                : block->bytes != chunk->block_bytes ? co_operation_resize(op, chunk->block_bytes)
                                                     : 0;
    if (error != 0) {
        chunk_of_other_shape(op, block, chunk, error);
        return false;
    }
    bool is_new = co_placement_chunk(op, block, chunk, payload, bytes);
    if (chunk->is_repair) {
        co_nack_repair_came(group, chunk, is_new);
    }
    if (!is_new) {
        return false;
    }
    if (chunk->is_repair) {
        co_repair_window_came(&group->mcast->repair_window);
    } else {
        co_landing_follow(op);
    }
    if (op->wanted != NULL && (chunk->is_repair || op->passes_all)) {
        co_retransmit_forward(op, chunk->source, chunk->psn);
    }
    chunks_placed(op, block, chunk->source);
    return true;
}

static void chunk_keep(struct co_mcast_group *group, const struct co_chunk *chunk, const struct came *came,
                       bool is_first)
{
    if (co_early_keep(group, chunk, came->payload, came->bytes - CO_WIRE_HEAD_BYTES)) {
        co_ack_changed(group, chunk->source);
        if (is_first) {
            co_nack_chunk_arrived(group, chunk, true);
        }
    }
}

// Decoded once, here or by the lane. NULL: it is none.
static const struct co_chunk *chunk_of(const struct came *came, struct co_chunk *decoded)
{
    if (came->by_lane != NULL) {
        return &came->by_lane->chunk;
    }
    return co_wire_chunk_decode(decoded, came->data, came->bytes) < 0 ? NULL : decoded;
}

static void chunk_is_stale(struct co_mcast_group *group, const struct co_chunk *chunk)
{
    co_counter_add(CO_COUNT_DATA_STALE, 1);
    if (chunk->is_repair) {
        co_nack_repair_came(group, chunk, false);
    }
    if (!chunk->is_contribution && co_operation_has_nothing_of(group, chunk->operation, chunk->source)) {
        co_group_members_disagree(group);
    }
}

// The operation that a first transmission was placed in, with *source, or NULL.
static struct co_mcast_op *chunk_take(struct co_mcast *mcast, const struct came *came, int *source)
{
    struct co_chunk decoded;
    const struct co_chunk *chunk = chunk_of(came, &decoded);
    if (chunk == NULL || chunk->chunk_bytes != mcast->config.chunk_bytes) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return NULL;
    }
    struct co_mcast_group *group = co_datagram_verify_chunk(mcast, chunk, came->by_lane, came->data, came->bytes);
    if (group == NULL) {
        return NULL;
    }
    bool is_first = !chunk->is_repair && !chunk->is_contribution;
    mcast->events++;
    if (is_first && came->lane != NULL && !came->by_lane->is_verified) {
        co_receive_lane_learn(came->lane, chunk, group->team_id, group->members[chunk->source]);
    }
    if (!co_serial_before(chunk->operation, group->next_operation)) {
        chunk_keep(group, chunk, came, is_first);
        return NULL;
    }
    struct co_mcast_op *op = co_operation_find(group, chunk->operation);
    if (op == NULL || op->state < 0) {
        chunk_is_stale(group, chunk);
        return NULL;
    }
    bool is_new = co_mcast_take_chunk(op, chunk, came->payload, came->bytes - CO_WIRE_HEAD_BYTES);
    *source = chunk->source;
    if (is_first) {
        co_nack_chunk_arrived(group, chunk, is_new);
    }
    return is_first ? op : NULL;
}

static struct co_mcast_op *datagram_take(struct co_mcast *mcast, const struct co_arrival *arrival,
                                         struct co_receive_lane *lane, const struct co_lane_datagram *by_lane,
                                         int *source)
{
    struct came came = {.data = arrival->data,
                        .bytes = arrival->bytes - mcast->tag_bytes,
                        .payload = arrival->data + CO_WIRE_HEAD_BYTES,
                        .lane = lane,
                        .by_lane = by_lane};
    if (arrival->bytes < mcast->tag_bytes) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return NULL;
    }
    switch (by_lane != NULL ? by_lane->kind : co_wire_kind(came.data, came.bytes)) {
    case CO_WIRE_CHUNK:
    case CO_WIRE_CONTRIBUTION:
        return chunk_take(mcast, &came, source);
    case CO_WIRE_CONTROL:
        co_control_receive(mcast, came.data, came.bytes);
        return NULL;
    default:
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return NULL;
    }
}

// What comes behind a chunk, as many as were taken with it.
static unsigned run_follow(struct co_mcast_op *op, int source, struct co_run_taken run)
{
    if (run.placed > 0) {
        co_landing_follow(op);
        chunks_placed(op, co_operation_block(op, source), source);
    }
    return run.count;
}

static void deliver(struct co_mcast *mcast, const struct co_arrival *arrivals, unsigned count,
                    struct co_receive_lane *lane, const struct co_lane_datagram *by_lane)
{
    for (unsigned i = 0; i < count; i++) {
        int source = 0;
        const struct co_lane_datagram *said = by_lane == NULL ? NULL : by_lane + i;
        struct co_mcast_op *op = datagram_take(mcast, &arrivals[i], lane, said, &source);
        if (op != NULL && i + 1 < count) {
            i += run_follow(op, source, co_chunk_run_place(op, source, &arrivals[i], count - i, said));
        }
    }
}

void co_mcast_deliver(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    deliver(arg, arrivals, count, NULL, NULL);
}

void co_mcast_deliver_lane(struct co_mcast *mcast, struct co_receive_lane *lane)
{
    struct co_arrival arrivals[CO_DELIVER_AT_ONCE];
    for (unsigned first = 0, count; first < lane->count; first += count) {
        const struct co_lane_datagram *datagrams = &lane->datagrams[first];
        count = lane->count - first < CO_DELIVER_AT_ONCE ? lane->count - first : CO_DELIVER_AT_ONCE;
        for (unsigned i = 0; i < count; i++) {
            arrivals[i] = (struct co_arrival){.data = datagrams[i].data, .bytes = (uint32_t)datagrams[i].bytes};
        }
        deliver(mcast, arrivals, count, lane, datagrams);
    }
}

// Their immediates say no more than the head, which the tag covers.
static void deliver_landed(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    struct co_mcast *mcast = arg;
    for (unsigned i = 0; i < count; i++) {
        int source = 0;
        struct came came = {.data = arrivals[i].data,
                            .bytes = arrivals[i].bytes - mcast->tag_bytes,
                            .payload = mcast->landing_at + (size_t)arrivals[i].immediate * mcast->config.chunk_bytes};
        struct co_mcast_op *op = chunk_take(mcast, &came, &source);
        if (op != NULL && i + 1 < count) {
            i += run_follow(op, source, co_chunk_run_land(op, source, &arrivals[i], count - i));
        }
    }
}

void co_mcast_receive_open(struct co_mcast *mcast)
{
    static const struct co_lander lander = {
        .expects = co_landing_expects, .is_expected = co_landing_is_expected, .deliver = deliver_landed};
    co_landing_open(mcast, &lander);
}
