// SPDX-License-Identifier: BSD-3-Clause
//
// Packets out and in, and what the device tells. Hot.
#include <errno.h>
#include <string.h>

#include "p2p/channel/rc/rc_state.h"

#define CONNECT_EVERY 32 // polls, while nobody waits for an answer

int co_rc_packet_post(struct co_rc_all *all, unsigned number)
{
    struct ibv_sge place = {.addr = (uintptr_t)co_rc_packet_in(all, number),
                            .length = (uint32_t)all->config.packet_bytes,
                            .lkey = all->region->lkey};
    struct ibv_recv_wr request = {.wr_id = co_rc_id(CO_RC_WORK_PACKET_IN, 0, number), .sg_list = &place, .num_sge = 1},
                       *bad;
    return -ibv_post_srq_recv(all->places, &request, &bad);
}

static void packet_fill(unsigned char *packet, const void *first, size_t first_bytes)
{
    if (first_bytes > 0) {
        memcpy(packet, first, first_bytes);
    }
}

bool co_rc_send(struct co_rc *rc, int peer, const void *head, size_t head_bytes, const void *first, size_t first_bytes,
                const void *second, size_t second_bytes)
{
    struct co_rc_all *all = co_rc_of(rc);
    struct co_rc_connection *connection = &all->peers[peer];
    if (connection->state != CO_RC_READY) {
        co_rc_connect(all, peer);
        return connection->state == CO_RC_BROKEN;
    }
    if (all->free_packet_count == 0 || connection->packets >= all->config.packets / 2) {
        return false;
    }
    unsigned number = all->free_packets[all->free_packet_count - 1];
    unsigned char *bytes = co_rc_packet_out(all, number);
    struct ibv_sge place = {.addr = (uintptr_t)bytes,
                            .length = (uint32_t)(head_bytes + first_bytes + second_bytes),
                            .lkey = all->region->lkey};
    struct ibv_send_wr request = {.wr_id = co_rc_id(CO_RC_WORK_PACKET_OUT, all->packets[number].attempt, number),
                                  .sg_list = &place,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_SEND,
                                  .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    packet_fill(bytes, head, head_bytes);
    packet_fill(bytes + head_bytes, first, first_bytes);
    packet_fill(bytes + head_bytes + first_bytes, second, second_bytes);
    int error = ibv_post_send(connection->queue_pair, &request, &bad);
    if (error != 0) {
        co_rc_abort(all, peer, strerror(error));
        return true;
    }
    all->free_packet_count--;
    all->packets[number].peer = peer;
    connection->packets++;
    return true;
}

static void packet_left(struct co_rc_all *all, const struct ibv_wc *done)
{
    unsigned number = co_rc_place_of(done->wr_id);
    struct co_rc_packet *packet = &all->packets[number];
    int peer = packet->peer;
    if (peer < 0 || !co_rc_is_attempt(done->wr_id, packet->attempt)) {
        return; // of a connection that was given up
    }
    packet->peer = -1;
    packet->attempt++;
    all->free_packets[all->free_packet_count++] = (uint16_t)number;
    all->peers[peer].packets--;
    if (done->status != IBV_WC_SUCCESS) {
        co_rc_abort(all, peer, ibv_wc_status_str(done->status));
    }
}

// True: it is an event.
static bool packet_came(struct co_rc_all *all, const struct ibv_wc *done, struct co_rc_event *event)
{
    unsigned number = co_rc_place_of(done->wr_id);
    const struct co_rc_connection *connection = co_hash_map_get(&all->by_queue_pair, done->qp_num);
    if (done->status != IBV_WC_SUCCESS || connection == NULL) {
        co_rc_packet_post(all, number);
        return false;
    }
    int peer = (int)(connection - all->peers);
    co_rc_connected(all, peer);
    *event = (struct co_rc_event){.kind = CO_RC_PACKET,
                                  .peer = peer,
                                  .packet = number,
                                  .data = co_rc_packet_in(all, number),
                                  .bytes = done->byte_len};
    return true;
}

// A write of no bytes, which the peer's device answers by itself, whatever its process does, and which nobody notices
// there. What is under way already tells the same, and may have to wait for a place at the peer: nothing goes behind
// it.
void co_rc_query(struct co_rc *rc, int peer)
{
    struct co_rc_all *all = co_rc_of(rc);
    struct co_rc_connection *connection = &all->peers[peer];
    if (connection->state != CO_RC_READY || connection->is_queried || connection->packets > 0 ||
        connection->parts > 0 || all->queries >= CO_RC_QUERIES) {
        return;
    }
    struct ibv_send_wr request = {.wr_id = co_rc_id(CO_RC_WORK_QUERY, 0, (unsigned)peer),
                                  .opcode = IBV_WR_RDMA_WRITE,
                                  .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    int error = ibv_post_send(connection->queue_pair, &request, &bad);
    if (error != 0) {
        co_rc_abort(all, peer, strerror(error));
        return;
    }
    connection->is_queried = true;
    all->queries++;
}

static void query_answered(struct co_rc_all *all, const struct ibv_wc *done)
{
    int peer = (int)co_rc_place_of(done->wr_id);
    struct co_rc_connection *connection = &all->peers[peer];
    if (!connection->is_queried) {
        return; // of a connection that was given up
    }
    connection->is_queried = false;
    all->queries--;
    if (done->status != IBV_WC_SUCCESS) {
        co_rc_abort(all, peer, ibv_wc_status_str(done->status));
    }
}

static void read_part_came(struct co_rc_all *all, const struct ibv_wc *done)
{
    int lost = co_rc_read_part_done(all, done);
    if (lost >= 0) {
        co_rc_abort(all, lost, ibv_wc_status_str(done->status));
    }
}

// The head of a failed completion says nothing but its number and its status.
static bool completion_take(struct co_rc_all *all, const struct ibv_wc *done, struct co_rc_event *event)
{
    if (done->status != IBV_WC_SUCCESS && done->status != IBV_WC_WR_FLUSH_ERR) {
        all->config.count_failed(1);
    }
    switch (co_rc_work_of(done->wr_id)) {
    case CO_RC_WORK_PACKET_IN:
        return packet_came(all, done, event);
    case CO_RC_WORK_PACKET_OUT:
        packet_left(all, done);
        break;
    case CO_RC_WORK_READ:
        read_part_came(all, done);
        break;
    case CO_RC_WORK_QUERY:
        query_answered(all, done);
        break;
    }
    return false;
}

static int lost_tell(struct co_rc_all *all, struct co_rc_event *events, int most)
{
    int count = 0;
    for (int peer = 0; all->lost > 0 && count < most && peer < all->config.size; peer++) {
        struct co_rc_connection *connection = &all->peers[peer];
        if (connection->state == CO_RC_BROKEN && !connection->is_told) {
            connection->is_told = true;
            all->lost--;
            events[count++] = (struct co_rc_event){.kind = CO_RC_LOST, .peer = peer, .result = -ECONNRESET};
        }
    }
    return count;
}

int co_rc_poll(struct co_rc *rc, struct co_rc_event *events, int most)
{
    struct co_rc_all *all = co_rc_of(rc);
    struct ibv_wc done[CO_RC_BATCH];
    int count = 0, polled;
    if (all->context != NULL && (all->waiting > 0 || all->polls++ % CONNECT_EVERY == 0)) {
        co_rc_connect_poll(all);
    }
    do {
        int room = most - count < CO_RC_BATCH ? most - count : CO_RC_BATCH;
        polled = room == 0 || all->context == NULL ? 0 : ibv_poll_cq(all->done, room, done);
        for (int i = 0; i < polled; i++) {
            count += completion_take(all, &done[i], &events[count]);
        }
    } while (polled == CO_RC_BATCH);
    if (polled < 0) { // or whoever waits for a message would wait for ever
        co_rc_abort_all(all, "the device's completions cannot be polled");
    }
    if (all->reads_out > 0) {
        co_rc_reads_push(all);
        count += co_rc_reads_ended(all, events + count, most - count);
    }
    return count + (all->lost > 0 ? lost_tell(all, events + count, most - count) : 0);
}
