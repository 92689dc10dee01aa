// SPDX-License-Identifier: BSD-3-Clause
//
// From two strangers to a connection. Who wants to send makes a queue pair and tells the peer's datagram queue pair its
// number, again and again until that one says that it has connected to it; whoever is told a number makes a queue pair,
// too, if there is none, connects it (verbs_queue_pair_states.h), and tells its own. So both may begin at once, and any
// datagram may be lost or come twice. Warm.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "p2p/channel/rc/rc_state.h"

#define REQUEST_NS (5 * CO_NS_PER_MS) // until the first repetition; then twice as long each time, up to
#define REQUEST_MOST_NS CO_NS_PER_S   // that: the peer computes
#define KEY UINT32_C(0x1ca57001)      // of connection requests (Q_Key); the job's tag tells jobs apart

// What is not answered in 0.54 s is sent again, seven times: a cable that is pulled for two seconds loses no messages.
#define TIMEOUT 17

static int receive_into(struct co_rc_all *all, unsigned slot)
{
    struct ibv_sge place = {.addr = (uintptr_t)co_rc_connect_slot(all, slot),
                            .length = CO_RC_GRH + sizeof(struct co_rc_connection_request),
                            .lkey = all->region->lkey};
    struct ibv_recv_wr request = {.wr_id = slot, .sg_list = &place, .num_sge = 1}, *bad;
    return -ibv_post_recv(all->connect_qp, &request, &bad);
}

int co_rc_connect_open(struct co_rc_all *all)
{
    all->connect_done = ibv_create_cq(all->context, 2 * CO_RC_CONNECT_SLOTS, NULL, NULL, 0);
    if (all->connect_done == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    struct ibv_qp_init_attr init = {.send_cq = all->connect_done,
                                    .recv_cq = all->connect_done,
                                    .qp_type = IBV_QPT_UD,
                                    .cap = {.max_send_wr = CO_RC_CONNECT_SLOTS,
                                            .max_recv_wr = CO_RC_CONNECT_SLOTS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = sizeof(struct co_rc_connection_request)}};
    all->connect_qp = ibv_create_qp(all->domain, &init);
    if (all->connect_qp == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    int error = co_verbs_datagrams_init(all->connect_qp, all->config.port, KEY);
    for (unsigned slot = 0; error == 0 && slot < CO_RC_CONNECT_SLOTS; slot++) {
        error = receive_into(all, slot);
    }
    return error == 0 ? co_verbs_datagrams_start(all->connect_qp) : error;
}

void co_rc_connect_close(struct co_rc_all *all)
{
    if (all->connect_qp != NULL) {
        ibv_destroy_qp(all->connect_qp);
        all->connect_qp = NULL;
    }
    if (all->connect_done != NULL) {
        ibv_destroy_cq(all->connect_done);
        all->connect_done = NULL;
    }
}

static struct ibv_ah_attr path_to(const struct co_rc_all *all, const struct co_rc_address *address)
{
    return co_verbs_path_to(all->config.port, all->config.gid_index, address->gid, address->lid);
}

// Lost where there is no room, or no way now: it is repeated.
static void request_send(struct co_rc_all *all, int peer)
{
    struct co_rc_connection *connection = &all->peers[peer];
    struct co_rc_connection_request request = {.job = all->config.job,
                                               .version = CO_RC_MODULE_VERSION,
                                               .rank = (uint32_t)all->config.self,
                                               .queue_pair = connection->queue_pair->qp_num,
                                               .first_number = connection->first_number,
                                               .mtu = all->mtu,
                                               .reads = all->reads_most,
                                               .has_yours = connection->state >= CO_RC_CONNECTED,
                                               .is_ready = connection->state == CO_RC_READY};
    if (connection->address_handle == NULL) {
        struct ibv_ah_attr path = path_to(all, &connection->address);
        connection->address_handle = ibv_create_ah(all->domain, &path);
    }
    if (connection->address_handle != NULL) {
        struct ibv_sge place = {.addr = (uintptr_t)&request, .length = sizeof request};
        struct ibv_send_wr send = {.wr_id = UINT64_MAX,
                                   .sg_list = &place,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
                                   .wr.ud = {connection->address_handle, connection->address.connect_qp, KEY}},
                           *bad;
        ibv_post_send(all->connect_qp, &send, &bad);
    }
    connection->request_ns = co_clock_now_ns() + connection->pause_ns;
    connection->pause_ns = 2 * connection->pause_ns < REQUEST_MOST_NS ? 2 * connection->pause_ns : REQUEST_MOST_NS;
}

static int queue_pair_make(struct co_rc_all *all, int peer)
{
    struct co_rc_connection *connection = &all->peers[peer];
    struct ibv_qp_init_attr init = {
        .send_cq = all->done,
        .recv_cq = all->done,
        .srq = all->places,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = all->config.packets + CO_RC_READS * CO_RC_READ_PARTS + 1, .max_send_sge = 1}};
    connection->queue_pair = ibv_create_qp(all->domain, &init);
    if (connection->queue_pair == NULL) {
        return errno != 0 ? errno : EIO;
    }
    // No memory is open to writes: those of queries have no bytes.
    int error = -co_verbs_connection_init(connection->queue_pair, all->config.port,
                                          IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    connection->first_number = (uint32_t)co_clock_now_ns() & CO_VERBS_NUMBER_MASK;
    connection->pause_ns = REQUEST_NS;
    if (error == 0 && co_hash_map_put(&all->by_queue_pair, connection->queue_pair->qp_num, connection) != 0) {
        error = ENOMEM;
    }
    return error;
}

// From nothing to a queue pair with a number that can be told. False: it is lost.
static bool connection_begin(struct co_rc_all *all, int peer)
{
    int error = queue_pair_make(all, peer);
    if (error != 0) {
        co_rc_abort(all, peer, strerror(error));
        return false;
    }
    all->peers[peer].state = CO_RC_CONNECTING;
    return true;
}

void co_rc_connect(struct co_rc_all *all, int peer)
{
    struct co_rc_connection *connection = &all->peers[peer];
    if (connection->is_wanted || connection->state == CO_RC_BROKEN) {
        return;
    }
    if (connection->state == CO_RC_NONE && !connection_begin(all, peer)) {
        return;
    }
    connection->is_wanted = true;
    if (connection->state != CO_RC_READY) {
        all->waiting++;
        request_send(all, peer);
    }
}

static void connection_become_ready(struct co_rc_all *all, int peer)
{
    struct co_rc_connection *connection = &all->peers[peer];
    if (connection->state == CO_RC_CONNECTED) {
        connection->state = CO_RC_READY;
        all->waiting -= connection->is_wanted;
    }
}

void co_rc_connected(struct co_rc_all *all, int peer)
{
    connection_become_ready(all, peer);
}

static int connection_connect(struct co_rc_all *all, struct co_rc_connection *connection,
                              const struct co_rc_connection_request *request)
{
    struct co_verbs_connection ends = {.path = path_to(all, &connection->address),
                                       .mtu = (enum ibv_mtu)request->mtu < all->mtu ? (enum ibv_mtu)request->mtu
                                                                                    : all->mtu,
                                       .peer = request->queue_pair,
                                       .peer_number = request->first_number,
                                       .number = connection->first_number,
                                       .reads = request->reads < all->reads_most ? request->reads : all->reads_most,
                                       .timeout = TIMEOUT};
    return co_verbs_connection_start(connection->queue_pair, &ends);
}

static bool request_is_valid(const struct co_rc_all *all, const struct co_rc_connection_request *request)
{
    return request->job == all->config.job && request->version == CO_RC_MODULE_VERSION &&
           request->rank < (uint32_t)all->config.size && request->rank != (uint32_t)all->config.self &&
           request->mtu >= IBV_MTU_256 && request->mtu <= IBV_MTU_4096 && request->reads > 0;
}

static void request_receive(struct co_rc_all *all, const struct co_rc_connection_request *request)
{
    int peer = (int)request->rank;
    struct co_rc_connection *connection = &all->peers[peer];
    if (connection->state == CO_RC_BROKEN || (connection->state == CO_RC_NONE && !connection_begin(all, peer))) {
        return;
    }
    if (connection->state == CO_RC_CONNECTING) {
        int error = connection_connect(all, connection, request);
        if (error != 0) {
            co_rc_abort(all, peer, strerror(-error));
            return;
        }
        connection->state = CO_RC_CONNECTED;
    }
    if (request->has_yours) {
        connection_become_ready(all, peer);
    }
    if (!request->is_ready) {
        request_send(all, peer);
    }
}

static void requests_receive(struct co_rc_all *all)
{
    struct ibv_wc done[CO_RC_BATCH];
    int count = ibv_poll_cq(all->connect_done, CO_RC_BATCH, done);
    for (int i = 0; i < count; i++) {
        if (done[i].wr_id == UINT64_MAX) { // of ours
            continue;
        }
        unsigned slot = (unsigned)done[i].wr_id;
        if (done[i].status == IBV_WC_SUCCESS &&
            done[i].byte_len == CO_RC_GRH + sizeof(struct co_rc_connection_request)) {
            struct co_rc_connection_request request;
            memcpy(&request, co_rc_connect_slot(all, slot) + CO_RC_GRH, sizeof request);
            if (request_is_valid(all, &request)) {
                request_receive(all, &request);
            }
        }
        if (done[i].status != IBV_WC_WR_FLUSH_ERR) {
            receive_into(all, slot);
        }
    }
}

static void requests_repeat(struct co_rc_all *all)
{
    uint64_t now_ns = co_clock_now_ns();
    for (int peer = 0; peer < all->config.size; peer++) {
        const struct co_rc_connection *connection = &all->peers[peer];
        if (connection->is_wanted && (connection->state == CO_RC_CONNECTING || connection->state == CO_RC_CONNECTED) &&
            now_ns >= connection->request_ns) {
            request_send(all, peer);
        }
    }
}

void co_rc_connect_poll(struct co_rc_all *all)
{
    requests_receive(all);
    if (all->waiting > 0) {
        requests_repeat(all);
    }
}

// Destroying the queue pair ends all that the device does for it.
void co_rc_drop(struct co_rc_all *all, int peer)
{
    struct co_rc_connection *connection = &all->peers[peer];
    if (connection->is_wanted && (connection->state == CO_RC_CONNECTING || connection->state == CO_RC_CONNECTED)) {
        all->waiting--;
    }
    if (connection->queue_pair != NULL) {
        co_hash_map_remove(&all->by_queue_pair, connection->queue_pair->qp_num);
        ibv_destroy_qp(connection->queue_pair);
        connection->queue_pair = NULL;
    }
    for (unsigned i = 0; connection->packets > 0 && i < all->config.packets; i++) {
        if (all->packets[i].peer == peer) {
            all->packets[i].peer = -1;
            all->packets[i].attempt++;
            all->free_packets[all->free_packet_count++] = (uint16_t)i;
            connection->packets--;
        }
    }
    all->queries -= connection->is_queried;
    connection->is_queried = false;
    connection->parts = 0;
    connection->state = CO_RC_BROKEN;
}

void co_rc_abort(struct co_rc_all *all, int peer, const char *why)
{
    struct co_rc_connection *connection = &all->peers[peer];
    char text[160];
    co_rc_drop(all, peer);
    co_rc_reads_drop(all, peer, true);
    if (!connection->is_told) {
        snprintf(text, sizeof text, "the connection to rank %d is lost: %s", peer, why);
        all->config.warn(text);
        all->lost++;
    }
}

void co_rc_abort_all(struct co_rc_all *all, const char *why)
{
    for (int peer = 0; peer < all->config.size; peer++) {
        if (peer != all->config.self && all->peers[peer].state != CO_RC_BROKEN) {
            co_rc_abort(all, peer, why);
        }
    }
}
