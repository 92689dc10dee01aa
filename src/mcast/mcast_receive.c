// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor's half for what comes: every datagram enters here, is checked (datagram_verify.c) and given to its
// part; what follows from a chunk for its block, operation, credit and repair is done here, in this order. Hot.
#include "mcast/mcast_receive.h"

#include <errno.h>

#include "base/counters.h"
#include "mcast/ack/ack.h"
#include "mcast/ack/ack_request.h"
#include "mcast/collect.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/group_end.h"
#include "mcast/liveness/dead_peers.h"
#include "mcast/state/operation.h"
#include "mcast/operation_length.h"
#include "mcast/operation_progress.h"
#include "mcast/probe.h"
#include "mcast/receive/chunk_run.h"
#include "mcast/receive/placement.h"
#include "mcast/receive/datagram_verify.h"
#include "mcast/receive/early_chunks.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/rdma_repair_read.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/control_send.h"

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

// What another member says of an operation cannot be true if our arguments are: the program gave different ones on
// different ranks. Somebody waits for what nobody sends, here, there or elsewhere, and no operation of the group can
// end that: so all of them do.
static void members_disagree(struct co_mcast_group *group)
{
    co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
    co_group_abort(group, -EMSGSIZE);
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
        members_disagree(op->group);
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
        members_disagree(group);
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

static void ack_request_take(struct co_mcast_group *group, const struct co_control *control)
{
    co_ack_send(group, control->source, (uint32_t)control->sequence);
    if (co_ack_request_pass_on(group, control->source, control->operation)) {
        co_nack_source_waits(group, (int)control->operation);
    }
}

// A bcast has no turns, and neither has a collector, which would send blocks that have yet to reach it.
static void token_take(struct co_mcast_group *group, uint32_t number)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    if (op != NULL && op->state == 0 && op->root < 0) {
        op->may_send = true;
    }
}

// Of a closed group whose copies were given up: who asks for one would ask for ever.
static bool is_given_up(const struct co_mcast_group *group, const struct co_control *control)
{
    return group->has_given_up && control->source == group->right &&
           co_serial_before(control->operation, group->next_operation) &&
           co_operation_find((struct co_mcast_group *)group, control->operation) == NULL &&
           !co_ack_right_has(group, control->operation);
}

static void nack_take(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    struct co_nack_body nack;
    co_wire_nack_decode(&nack, body);
    if (is_given_up(group, control)) {
        co_control_send_member(group, control->source, CO_CONTROL_ABORT, 0, 0, NULL, 0);
    } else if (nack.source < group->count && co_operation_has_nothing_of(group, control->operation, nack.source)) {
        members_disagree(group);
    } else {
        co_nack_receive(group, control->source, control, body);
    }
}

static void end_of_block_take(struct co_mcast_group *group, int from, uint32_t number)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    struct co_receive_block *block = op == NULL ? NULL : co_operation_block(op, from);
    if (block != NULL && op->state == 0) {
        co_operation_all_sent(op, block);
        co_group_activate(group);
    }
}

static void control_dispatch(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    switch (control->type) {
    case CO_CONTROL_ABORT:
        co_group_abort(group, -ECONNRESET);
        break;
    case CO_CONTROL_ACK:
        co_ack_receive(group, control->source, control, body);
        break;
    case CO_CONTROL_ACK_REQUEST:
        ack_request_take(group, control);
        break;
    case CO_CONTROL_NACK:
        nack_take(group, control, body);
        break;
    case CO_CONTROL_NACK_DEFERRED:
        co_nack_deferred_receive(group, control, body);
        break;
    case CO_CONTROL_READ_OFFER:
        co_rdma_repair_receive_offer(group, control, body);
        break;
    case CO_CONTROL_END_OF_BLOCK:
        end_of_block_take(group, control->source, control->operation);
        break;
    case CO_CONTROL_CONTRIBUTION_REQUEST:
        if (co_collect_request_take(group, control) < 0) {
            members_disagree(group);
        }
        break;
    case CO_CONTROL_TOKEN:
        token_take(group, control->operation);
        break;
    default:
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
    }
}

static void team_control_take(struct co_mcast *mcast, struct co_mcast_seed *seed, const struct co_control *control,
                              const uint8_t *body)
{
    struct co_mcast_group *group = co_seed_group(mcast, seed);
    if (group == NULL) {
        if (seed->broken != 0 && control->type != CO_CONTROL_ABORT) {
            co_seed_send_broken(mcast, seed, control->source);
        }
        return;
    }
    if (!co_datagram_is_rightful(group, control, body)) {
        co_counter_add(CO_COUNT_DROP_STRAY, 1);
        return;
    }
    if (group->broken != 0 && control->type != CO_CONTROL_ABORT) {
        co_control_send_member(group, control->source, CO_CONTROL_ABORT, 0, 0, NULL, 0);
        return;
    }
    control_dispatch(group, control, body);
}

static void control_take(struct co_mcast *mcast, const uint8_t *data, size_t bytes)
{
    struct co_verified_control verified;
    if (!co_datagram_verify_control(mcast, &verified, data, bytes)) {
        return;
    }
    co_counter_add(CO_COUNT_CONTROL_RECEIVED, 1);
    mcast->events++;
    mcast->peers[verified.rank].alive_ns = mcast->now_ns;
    co_dead_peers_heard(mcast, verified.rank);
    if (verified.seed == NULL) {
        co_probe_take(mcast, &verified.control);
    } else {
        team_control_take(mcast, verified.seed, &verified.control, data + CO_WIRE_HEAD_BYTES);
    }
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
        control_take(mcast, came.data, came.bytes);
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
