// SPDX-License-Identifier: BSD-3-Clause
//
// Every datagram enters here: decode, find its team, drop our own, verify the tag, take control messages once, and
// hand it on. Whatever fails is counted by cause and dropped: foreign bytes cost time, nothing else. Hot.
#include <errno.h>

#include "base/counters.h"
#include "mcast/send/chain_schedule.h"
#include "mcast/endpoint.h"
#include "mcast/ack/ack.h"
#include "mcast/ack/ack_request.h"
#include "mcast/group.h"
#include "mcast/group_end.h"
#include "mcast/liveness/liveness_peers.h"
#include "mcast/operation.h"
#include "mcast/probe.h"
#include "mcast/receive/chunk_run.h"
#include "mcast/receive/deliver.h"
#include "mcast/receive/dispatcher.h"
#include "mcast/receive/landing.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/rdma_repair_read.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/control_send.h"

static bool is_verified_by_lane(const struct co_mcast *mcast, uint64_t team_id, int rank, enum co_auth_domain domain)
{
    const struct co_lane_datagram *datagram = mcast->lane_datagram;
    return datagram != NULL && datagram->is_verified && domain == CO_AUTH_CHUNK && datagram->team_id == team_id &&
           datagram->rank == rank;
}

// The tag covers the full team id, so of several teams that share the low half only the right one verifies. Nothing is
// opened before that.
static struct co_mcast_seed *verified_seed(struct co_mcast *mcast, uint32_t team, int source,
                                           enum co_auth_domain domain, const uint8_t nonce[CO_AUTH_NONCE_BYTES],
                                           const uint8_t *data, size_t bytes)
{
    bool is_member = false, is_own = false;
    for (struct co_mcast_seed *seed = co_seed_find(mcast, team); seed != NULL; seed = seed->next_alike) {
        if (source >= seed->count) {
            continue;
        }
        if (source == seed->self) {
            is_own = true; // or another's, in a team that shares the low half
            continue;
        }
        is_member = true;
        int rank = co_seed_rank(seed, source);
        if (is_verified_by_lane(mcast, seed->team_id, rank, domain) ||
            co_auth_verify(mcast->config.auth, domain, rank, seed->team_id, nonce, data, bytes)) {
            return seed;
        }
    }
    co_counter_add(is_own ? CO_COUNT_DROP_OWN : is_member ? CO_COUNT_DROP_FORGED : CO_COUNT_DROP_FOREIGN, 1);
    return NULL;
}

// `bytes` without the tag; the payload may stand somewhere else. The operation that a first transmission was placed in,
// with *source, or NULL.
static struct co_mcast_op *take_chunk(struct co_mcast *mcast, const uint8_t *data, size_t bytes, const uint8_t *payload,
                                      int *source)
{
    struct co_chunk chunk;
    if (co_wire_chunk_decode(&chunk, data, bytes) < 0 || chunk.chunk_bytes != mcast->config.chunk_bytes) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return NULL;
    }
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_chunk_nonce(nonce, &chunk);
    struct co_mcast_seed *seed =
        verified_seed(mcast, chunk.team, chunk.source, co_chunk_domain(&chunk), nonce, data, bytes);
    struct co_mcast_group *group = seed == NULL ? NULL : co_seed_group(mcast, seed);
    if (group == NULL) {
        return NULL;
    }
    size_t payload_bytes = bytes - CO_WIRE_HEAD_BYTES;
    bool is_first = !chunk.is_repair && !chunk.is_contribution;
    mcast->events++;
    if (is_first && mcast->lane != NULL && !mcast->lane_datagram->is_verified) {
        co_receive_lane_learn(mcast->lane, &chunk, group->team_id, group->members[chunk.source]);
    }
    if (!co_serial_before(chunk.operation, group->next_operation)) {
        if (co_early_keep(group, &chunk, payload, payload_bytes) && is_first) {
            co_nack_chunk_arrived(group, &chunk, true);
        }
        return NULL;
    }
    struct co_mcast_op *op = co_operation_find(group, chunk.operation);
    if (op == NULL || op->state < 0) {
        co_counter_add(CO_COUNT_DATA_STALE, 1);
        if (chunk.is_repair) {
            co_nack_answered(group, chunk.operation, chunk.label, false);
        }
        return NULL;
    }
    bool is_new = co_deliver_chunk(op, &chunk, payload, payload_bytes);
    *source = chunk.source;
    if (is_first) {
        co_nack_chunk_arrived(group, &chunk, is_new);
    }
    return is_first ? op : NULL;
}

static void take_nudge(struct co_mcast_group *group, const struct co_control *control)
{
    co_ack_send(group, control->source, (uint32_t)control->sequence);
    if (co_ack_request_pass_on(group, control->source, control->operation)) {
        co_nack_source_waits(group, (int)control->operation);
    }
}

// A bcast has no turns, and neither has a collector, which would send blocks that have yet to reach it.
static void take_activation(struct co_mcast_group *group, uint32_t number)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    if (op != NULL && op->state == 0 && op->root < 0) {
        op->may_send = true;
    }
}

static void take_end(struct co_mcast_group *group, int from, uint32_t number)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    struct co_receive_block *block = op == NULL ? NULL : co_operation_block(op, from);
    if (block != NULL && op->state == 0) {
        co_receive_block_all_sent(block, group->mcast->now_ns);
        co_group_activate(group);
        group->is_quiet = false;
    }
}

// Only the right neighbour asks for blocks of others, and only who was asked has deferred anything; a turn is handed on
// along the chain. The rest says something of its sender alone, or is anybody's to say.
static bool is_rightful(const struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    struct co_nack_body nack;
    int from = control->source, chains = co_chain_count(group->count, group->mcast->config.chains);
    switch (control->type) {
    case CO_CONTROL_NACK:
        co_wire_nack_decode(&nack, body);
        return from == group->right || nack.source == group->self;
    case CO_CONTROL_NACK_DEFERRED:
        co_wire_nack_decode(&nack, body);
        return from == group->left || nack.source == from;
    case CO_CONTROL_READ_OFFER:
        return from == group->left;
    case CO_CONTROL_TOKEN:
        return from == co_chain_predecessor(group->self, group->count, chains);
    default:
        return true;
    }
}

static void dispatch_control(struct co_mcast *mcast, struct co_mcast_seed *seed, const struct co_control *control,
                             const uint8_t *body)
{
    struct co_mcast_group *group = co_seed_group(mcast, seed);
    if (group == NULL) {
        if (seed->broken != 0 && control->type != CO_CONTROL_ABORT) {
            co_seed_send_broken(mcast, seed, control->source);
        }
        return;
    }
    if (!is_rightful(group, control, body)) {
        co_counter_add(CO_COUNT_DROP_STRAY, 1);
        return;
    }
    if (group->broken != 0 && control->type != CO_CONTROL_ABORT) {
        co_control_send_member(group, control->source, CO_CONTROL_ABORT, 0, 0, NULL, 0);
        return;
    }
    switch (control->type) {
    case CO_CONTROL_ABORT:
        co_group_break(group, -ECONNRESET);
        break;
    case CO_CONTROL_ACK:
        co_ack_receive(group, control->source, control, body);
        break;
    case CO_CONTROL_ACK_REQUEST:
        take_nudge(group, control);
        break;
    case CO_CONTROL_NACK:
        co_nack_receive(group, control->source, control, body);
        break;
    case CO_CONTROL_NACK_DEFERRED:
        co_nack_deferred_receive(group, control, body);
        break;
    case CO_CONTROL_READ_OFFER:
        co_rdma_repair_receive_offer(group, control, body);
        break;
    case CO_CONTROL_END_OF_BLOCK:
        take_end(group, control->source, control->operation);
        break;
    case CO_CONTROL_TOKEN:
        take_activation(group, control->operation);
        break;
    default:
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
    }
}

static bool is_probe(enum co_control_type type)
{
    return type == CO_CONTROL_PROBE || type == CO_CONTROL_PROBE_REPLY || type == CO_CONTROL_PROBE_DONE;
}

// Probe messages belong to no team: team 0, the source is a world rank.
static bool verified_probe(struct co_mcast *mcast, const struct co_control *control,
                           const uint8_t nonce[CO_AUTH_NONCE_BYTES], const uint8_t *data, size_t bytes)
{
    if (control->team != 0 || control->source >= mcast->config.world_size) {
        co_counter_add(CO_COUNT_DROP_FOREIGN, 1);
        return false;
    }
    if (control->source == mcast->config.world_rank) {
        co_counter_add(CO_COUNT_DROP_OWN, 1);
        return false;
    }
    if (!co_auth_verify(mcast->config.auth, CO_AUTH_CONTROL, control->source, 0, nonce, data, bytes)) {
        co_counter_add(CO_COUNT_DROP_FORGED, 1);
        return false;
    }
    return true;
}

static bool is_first_time(struct co_mcast *mcast, int rank, uint64_t sequence)
{
    if (co_replay_window_accept(&mcast->peers[rank].replay, sequence)) {
        return true;
    }
    co_counter_add(CO_COUNT_DROP_REPLAYED, 1);
    return false;
}

static void take_control(struct co_mcast *mcast, const uint8_t *data, size_t bytes)
{
    struct co_control control;
    if (co_wire_control_decode(&control, data, bytes) < 0) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return;
    }
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_control_nonce(nonce, &control, (unsigned)mcast->config.world_rank);
    struct co_mcast_seed *seed = NULL;
    int rank = control.source;
    if (is_probe(control.type)) {
        if (!verified_probe(mcast, &control, nonce, data, bytes)) {
            return;
        }
    } else {
        seed = verified_seed(mcast, control.team, control.source, CO_AUTH_CONTROL, nonce, data, bytes);
        if (seed == NULL) {
            return;
        }
        rank = co_seed_rank(seed, control.source);
    }
    if (!is_first_time(mcast, rank, control.sequence)) {
        return;
    }
    co_counter_add(CO_COUNT_CONTROL_RECEIVED, 1);
    mcast->events++;
    mcast->peers[rank].alive_ns = mcast->now_ns;
    co_liveness_peers_heard(mcast, rank);
    if (seed == NULL) {
        co_probe_take(mcast, &control);
    } else {
        dispatch_control(mcast, seed, &control, data + CO_WIRE_HEAD_BYTES);
    }
}

// Its immediate says no more than the head, which the tag covers.
static struct co_mcast_op *take_datagram(struct co_mcast *mcast, const struct co_arrival *arrival, int *source)
{
    const uint8_t *data = arrival->data;
    size_t bytes = arrival->bytes - mcast->tag_bytes;
    if (arrival->bytes < mcast->tag_bytes) {
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return NULL;
    }
    switch (co_wire_kind(data, bytes)) {
    case CO_WIRE_CHUNK:
    case CO_WIRE_CONTRIBUTION:
        return take_chunk(mcast, data, bytes, data + CO_WIRE_HEAD_BYTES, source);
    case CO_WIRE_CONTROL:
        take_control(mcast, data, bytes);
        return NULL;
    default:
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
        return NULL;
    }
}

void co_dispatcher_deliver(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    struct co_mcast *mcast = arg;
    const struct co_lane_datagram *of_lane = mcast->lane_datagram;
    for (unsigned i = 0; i < count; i++) {
        int source = 0;
        mcast->lane_datagram = of_lane == NULL ? NULL : of_lane + i;
        struct co_mcast_op *op = take_datagram(mcast, &arrivals[i], &source);
        i += co_chunk_run_place(op, source, &arrivals[i], count - i);
    }
}

static void deliver_landed(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    struct co_mcast *mcast = arg;
    for (unsigned i = 0; i < count; i++) {
        int source = 0;
        const uint8_t *payload = mcast->landing_at + (size_t)arrivals[i].immediate * mcast->config.chunk_bytes;
        struct co_mcast_op *op =
            take_chunk(mcast, arrivals[i].data, arrivals[i].bytes - mcast->tag_bytes, payload, &source);
        i += co_chunk_run_land(op, source, &arrivals[i], count - i);
    }
}

void co_dispatcher_open(struct co_mcast *mcast)
{
    static const struct co_lander lander = {
        .expects = co_landing_expects, .is_expected = co_landing_is_expected, .deliver = deliver_landed};
    co_landing_open(mcast, &lander);
}
