// SPDX-License-Identifier: BSD-3-Clause
//
// One subgroup's datagrams from the kernel to the engine, with their tags checked on the way. Hot.
#include "mcast/receive/receive_lane.h"

#include <errno.h>
#include <stdlib.h>

#include "base/atomics.h"

enum { EMPTY, FILLING, FULL };

static struct co_lane_sender *slot_of(struct co_receive_lane *lane, uint32_t wire_team, uint16_t source)
{
    return &lane->senders[(wire_team * UINT32_C(0x9E3779B1) + source) % CO_LANE_SENDERS];
}

static void verify(struct co_receive_lane *lane, struct co_lane_datagram *datagram)
{
    const struct co_chunk *chunk = &datagram->chunk;
    const struct co_lane_sender *sender = slot_of(lane, chunk->team, chunk->source);
    if (!sender->is_known || sender->wire_team != chunk->team || sender->source != chunk->source) {
        return;
    }
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_chunk_nonce(nonce, chunk);
    datagram->team_id = sender->team_id;
    datagram->rank = sender->rank;
    datagram->is_verified = co_auth_verify(lane->auth, CO_AUTH_CHUNK, sender->rank, sender->team_id, nonce,
                                           datagram->data, datagram->bytes - lane->tag_bytes);
}

// Who takes it looks at the head of a chunk no more.
static void decode(struct co_receive_lane *lane, struct co_lane_datagram *datagram)
{
    size_t bytes = datagram->bytes - lane->tag_bytes;
    datagram->kind = co_wire_kind(datagram->data, bytes);
    bool is_chunk = datagram->kind == CO_WIRE_CHUNK || datagram->kind == CO_WIRE_CONTRIBUTION;
    if (is_chunk && co_wire_chunk_decode(&datagram->chunk, datagram->data, bytes) < 0) {
        datagram->kind = -EPROTO;
    }
    if (datagram->kind == CO_WIRE_CHUNK && !datagram->chunk.is_repair) {
        verify(lane, datagram);
    }
}

static void hold(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    struct co_receive_lane *lane = arg;
    for (unsigned i = 0; i < count && lane->count < CO_LANE_DATAGRAMS; i++) { // else many tiny ones: dropped as if the
        struct co_lane_datagram *datagram = &lane->datagrams[lane->count++];  // socket had been full
        datagram->data = arrivals[i].data;
        datagram->bytes = arrivals[i].bytes;
        datagram->kind = -EPROTO;
        datagram->is_verified = false;
        if (datagram->bytes >= lane->tag_bytes) {
            decode(lane, datagram);
        }
    }
}

int co_receive_lane_fill(struct co_receive_lane *lane)
{
    int expected = EMPTY;
    // acquire F1: the senders learnt and the datagrams given back are read only now.
    if (!atomic_compare_exchange_strong_explicit(&lane->state, &expected, FILLING, memory_order_acquire,
                                                 memory_order_relaxed)) {
        return expected == FULL ? 1 : 0;
    }
    lane->count = 0;
    int status = lane->transport->ops->lane_receive(lane->transport, lane->index, hold, lane, &lane->has_more);
    int count = (int)lane->count;
    co_store_release(&lane->state, count > 0 ? FULL : EMPTY); // release F2: the datagrams; F1 to the next who fills
    return status < 0 ? status : count;
}

bool co_receive_lane_take(struct co_receive_lane *lane)
{
    return co_load_acquire(&lane->state) == FULL; // acquire F2; only the holder of the engine makes it less
}

void co_receive_lane_give(struct co_receive_lane *lane)
{
    co_store_release(&lane->state, EMPTY); // release F1
}

void co_receive_lane_learn(struct co_receive_lane *lane, const struct co_chunk *chunk, uint64_t team_id, int rank)
{
    *slot_of(lane, chunk->team, chunk->source) = (struct co_lane_sender){
        .is_known = true, .wire_team = chunk->team, .source = chunk->source, .team_id = team_id, .rank = rank};
}

int co_receive_lane_open(struct co_receive_lane **out, struct co_transport *transport, const struct co_auth *auth,
                         unsigned index)
{
    if (transport->ops->lane_open == NULL) {
        return -ENOTSUP;
    }
    struct co_receive_lane *lane = calloc(1, sizeof(*lane));
    if (lane == NULL) {
        return -ENOMEM;
    }
    lane->transport = transport;
    lane->index = index;
    lane->tag_bytes = co_auth_tag_bytes(auth);
    int status = co_auth_copy(&lane->auth, auth);
    if (status == 0) {
        status = transport->ops->join(transport, index);
    }
    if (status == 0) {
        status = transport->ops->lane_open(transport, index);
    }
    if (status < 0) {
        co_receive_lane_close(lane);
        return status;
    }
    *out = lane;
    return 0;
}

void co_receive_lane_close(struct co_receive_lane *lane)
{
    if (lane != NULL) {
        co_auth_close(lane->auth);
        free(lane);
    }
}
