// SPDX-License-Identifier: BSD-3-Clause
//
// Life of the connections: device, memory, queues; closing. Cold.
#define _GNU_SOURCE // MADV_DONTFORK
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory/zeroed_pages.h"
#include "p2p/channel/rc/rc_state.h"

#define LINE 64

static int device_query(struct co_rc_all *all)
{
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    if (ibv_query_device(all->context, &device) != 0 || ibv_query_port(all->context, all->config.port, &port) != 0) {
        return -EIO;
    }
    all->mtu = port.active_mtu;
    all->reads_most = co_verbs_reads_at_once(all->context);
    all->part_bytes = port.max_msg_sz < CO_RC_PART ? port.max_msg_sz : CO_RC_PART;
    return device.max_srq < 1 ? -ENOTSUP : 0;
}

static int memory_open(struct co_rc_all *all)
{
    all->packet_stride = (all->config.packet_bytes + LINE - 1) / LINE * LINE;
    all->memory_bytes = 2 * (size_t)all->config.packets * all->packet_stride +
                        CO_RC_CONNECT_SLOTS * (CO_RC_GRH + sizeof(struct co_rc_connection_request));
    all->memory = co_zeroed_pages_take(all->memory_bytes);
    if (all->memory == NULL) {
        return -ENOMEM;
    }
    madvise(all->memory, all->memory_bytes, MADV_DONTFORK); // a child would take the pages away from the device
    all->region = ibv_reg_mr(all->domain, all->memory, all->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
    return all->region != NULL ? 0 : errno != 0 ? -errno : -ENOMEM;
}

static int queues_open(struct co_rc_all *all)
{
    unsigned packets = all->config.packets;
    struct ibv_srq_init_attr init = {.attr = {.max_wr = packets, .max_sge = 1}};
    all->done =
        ibv_create_cq(all->context, (int)(2 * packets + CO_RC_READS * CO_RC_READ_PARTS + CO_RC_QUERIES), NULL, NULL, 0);
    all->places = all->done == NULL ? NULL : ibv_create_srq(all->domain, &init);
    if (all->places == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    int error = 0;
    for (unsigned i = 0; error == 0 && i < packets; i++) {
        error = co_rc_packet_post(all, i);
    }
    return error;
}

static int rc_allocate(struct co_rc_all *all)
{
    unsigned packets = all->config.packets;
    all->peers = calloc((size_t)all->config.size, sizeof *all->peers);
    all->packets = calloc(packets, sizeof *all->packets);
    all->free_packets = calloc(packets, sizeof *all->free_packets);
    if (all->peers == NULL || all->packets == NULL || all->free_packets == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < packets; i++) {
        all->packets[i].peer = -1;
        all->free_packets[i] = (uint16_t)i;
    }
    for (unsigned i = 0; i < CO_RC_READS; i++) {
        all->reads[i].peer = -1;
    }
    all->free_packet_count = packets;
    return 0;
}

// No peer has a queue pair any more, and no buffer is registered for a read.
static void queues_close(struct co_rc_all *all)
{
    for (int peer = 0; all->peers != NULL && peer < all->config.size; peer++) {
        if (all->peers[peer].address_handle != NULL) {
            ibv_destroy_ah(all->peers[peer].address_handle);
            all->peers[peer].address_handle = NULL;
        }
    }
    co_rc_connect_close(all);
    if (all->places != NULL) {
        ibv_destroy_srq(all->places);
        all->places = NULL;
    }
    if (all->done != NULL) {
        ibv_destroy_cq(all->done);
        all->done = NULL;
    }
}

static void device_close(struct co_rc_all *all)
{
    for (unsigned i = 0; i < CO_RC_REGIONS; i++) {
        if (all->exported[i] != NULL) {
            ibv_dereg_mr(all->exported[i]);
            all->exported[i] = NULL;
        }
    }
    if (all->region != NULL) {
        ibv_dereg_mr(all->region);
        all->region = NULL;
    }
    if (all->domain != NULL) {
        ibv_dealloc_pd(all->domain);
        all->domain = NULL;
    }
    if (all->context != NULL) {
        ibv_close_device(all->context);
        all->context = NULL;
    }
}

// Packets that have come stay readable.
static void rc_let_go(struct co_rc *rc)
{
    struct co_rc_all *all = co_rc_of(rc);
    if (all->context == NULL) {
        return;
    }
    co_rc_abort_all(all, "the device is taken away");
    co_rc_reads_let_go(all);
    queues_close(all);
    device_close(all);
}

static void rc_close(struct co_rc *rc)
{
    struct co_rc_all *all = co_rc_of(rc);
    for (int peer = 0; all->peers != NULL && peer < all->config.size; peer++) {
        co_rc_drop(all, peer);
        co_rc_reads_drop(all, peer, false);
    }
    queues_close(all);
    device_close(all);
    co_zeroed_pages_give(all->memory, all->memory_bytes);
    co_hash_map_close(&all->by_queue_pair);
    free(all->peers);
    free(all->packets);
    free(all->free_packets);
    free(all);
}

static void rc_set_peer(struct co_rc *rc, int peer, const struct co_rc_address *address)
{
    co_rc_of(rc)->peers[peer].address = *address;
}

static void packet_give_back(struct co_rc *rc, unsigned packet)
{
    if (co_rc_of(rc)->context != NULL) {
        co_rc_packet_post(co_rc_of(rc), packet);
    }
}

static void rc_cut(struct co_rc *rc, int peer)
{
    struct co_rc_all *all = co_rc_of(rc);
    struct co_rc_connection *connection = &all->peers[peer];
    all->lost -= connection->state == CO_RC_BROKEN && !connection->is_told;
    connection->is_told = true;
    co_rc_drop(all, peer);
    co_rc_reads_drop(all, peer, false);
}

static bool rc_is_idle(const struct co_rc *rc)
{
    const struct co_rc_all *all = (const struct co_rc_all *)rc;
    return all->free_packet_count == all->config.packets && all->reads_out == 0;
}

static const struct co_rc_ops ops = {.set_peer = rc_set_peer,
                                     .send = co_rc_send,
                                     .poll = co_rc_poll,
                                     .give_back = packet_give_back,
                                     .region_export = co_rc_region_export,
                                     .region_release = co_rc_region_release,
                                     .read = co_rc_read,
                                     .query = co_rc_query,
                                     .cut = rc_cut,
                                     .is_idle = rc_is_idle,
                                     .let_go = rc_let_go,
                                     .close = rc_close};

static int rc_open_all(struct co_rc_all *all)
{
    int error = device_query(all);
    error = error == 0 ? rc_allocate(all) : error;
    if (error == 0) {
        all->domain = ibv_alloc_pd(all->context);
        error = all->domain == NULL ? -EIO : memory_open(all);
    }
    error = error == 0 ? queues_open(all) : error;
    return error == 0 ? co_rc_connect_open(all) : error;
}

static int rc_open(struct co_rc **out, const struct co_rc_config *config, uint32_t *connect_qp, char *why,
                   size_t why_room)
{
    struct co_rc_all *all = calloc(1, sizeof *all);
    if (all == NULL) {
        snprintf(why, why_room, "no memory");
        return -ENOMEM;
    }
    *all = (struct co_rc_all){.rc = {&ops}, .config = *config};
    co_hash_map_open(&all->by_queue_pair);
    all->context = co_verbs_device_named(config->device);
    int error = all->context == NULL ? (errno != 0 ? -errno : -ENODEV) : rc_open_all(all);
    if (error != 0) {
        snprintf(why, why_room, "%s gives no connections, which want %zu KiB of locked memory: %s", config->device,
                 all->memory_bytes >> 10, strerror(-error));
        rc_close(&all->rc);
        return error;
    }
    all->config.device = NULL; // the caller's
    *connect_qp = all->connect_qp->qp_num;
    *out = &all->rc;
    return 0;
}

const struct co_rc_module *co_rc_module(void)
{
    static const struct co_rc_module module = {CO_RC_MODULE_VERSION, rc_open};
    return &module;
}
