// SPDX-License-Identifier: BSD-3-Clause
//
// Life of the connections: device, memory, queues; closing. Cold.
#define _GNU_SOURCE // MADV_DONTFORK
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/zeroed_pages.h"
#include "p2p/channel/links/links_state.h"

#define LINE 64

static int ask_device(struct co_links_all *all)
{
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    if (ibv_query_device(all->context, &device) != 0 || ibv_query_port(all->context, all->config.port, &port) != 0) {
        return -EIO;
    }
    all->mtu = port.active_mtu;
    all->reads_most = co_verbs_reads_at_once(all->context);
    all->part_bytes = port.max_msg_sz < CO_LINKS_PART ? port.max_msg_sz : CO_LINKS_PART;
    return device.max_srq < 1 ? -ENOTSUP : 0;
}

static int open_memory(struct co_links_all *all)
{
    all->frame_stride = (all->config.frame_bytes + LINE - 1) / LINE * LINE;
    all->memory_bytes = 2 * (size_t)all->config.frames * all->frame_stride +
                        CO_LINKS_DOOR_SLOTS * (CO_LINKS_GRH + sizeof(struct co_invitation));
    all->memory = co_zeroed_pages_take(all->memory_bytes);
    if (all->memory == NULL) {
        return -ENOMEM;
    }
    madvise(all->memory, all->memory_bytes, MADV_DONTFORK); // a child would take the pages away from the device
    all->region = ibv_reg_mr(all->domain, all->memory, all->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
    return all->region != NULL ? 0 : errno != 0 ? -errno : -ENOMEM;
}

static int open_queues(struct co_links_all *all)
{
    unsigned frames = all->config.frames;
    struct ibv_srq_init_attr init = {.attr = {.max_wr = frames, .max_sge = 1}};
    all->done = ibv_create_cq(all->context, (int)(2 * frames + CO_LINKS_READS * CO_LINKS_READ_PARTS), NULL, NULL, 0);
    all->places = all->done == NULL ? NULL : ibv_create_srq(all->domain, &init);
    if (all->places == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    int error = 0;
    for (unsigned i = 0; error == 0 && i < frames; i++) {
        error = co_links_post_frame(all, i);
    }
    return error;
}

static int allocate(struct co_links_all *all)
{
    unsigned frames = all->config.frames;
    all->peers = calloc((size_t)all->config.size, sizeof *all->peers);
    all->frames = calloc(frames, sizeof *all->frames);
    all->free_frames = calloc(frames, sizeof *all->free_frames);
    if (all->peers == NULL || all->frames == NULL || all->free_frames == NULL) {
        return -ENOMEM;
    }
    for (unsigned i = 0; i < frames; i++) {
        all->frames[i].peer = -1;
        all->free_frames[i] = (uint16_t)i;
    }
    for (unsigned i = 0; i < CO_LINKS_READS; i++) {
        all->reads[i].peer = -1;
    }
    all->free_frame_count = frames;
    return 0;
}

// No peer has a queue pair any more, and no buffer is registered for a read.
static void give_back_queues(struct co_links_all *all)
{
    for (int peer = 0; all->peers != NULL && peer < all->config.size; peer++) {
        if (all->peers[peer].door != NULL) {
            ibv_destroy_ah(all->peers[peer].door);
            all->peers[peer].door = NULL;
        }
    }
    co_links_door_close(all);
    if (all->places != NULL) {
        ibv_destroy_srq(all->places);
        all->places = NULL;
    }
    if (all->done != NULL) {
        ibv_destroy_cq(all->done);
        all->done = NULL;
    }
}

static void give_back_device(struct co_links_all *all)
{
    for (unsigned i = 0; i < CO_LINKS_REGIONS; i++) {
        if (all->lent[i] != NULL) {
            ibv_dereg_mr(all->lent[i]);
            all->lent[i] = NULL;
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

void co_links_lose_all(struct co_links_all *all, const char *why)
{
    for (int peer = 0; peer < all->config.size; peer++) {
        if (peer != all->config.self && all->peers[peer].state != CO_LINK_BROKEN) {
            co_links_lose(all, peer, why);
        }
    }
}

// Frames that have come stay readable.
static void let_go(struct co_links *links)
{
    struct co_links_all *all = co_links_of(links);
    if (all->context == NULL) {
        return;
    }
    co_links_lose_all(all, "the device is taken away");
    co_links_reads_let_go(all);
    give_back_queues(all);
    give_back_device(all);
}

static void close_links(struct co_links *links)
{
    struct co_links_all *all = co_links_of(links);
    for (int peer = 0; all->peers != NULL && peer < all->config.size; peer++) {
        co_links_drop(all, peer);
        co_links_reads_drop(all, peer, false);
    }
    give_back_queues(all);
    give_back_device(all);
    co_zeroed_pages_give(all->memory, all->memory_bytes);
    co_hash_map_close(&all->by_queue_pair);
    free(all->peers);
    free(all->frames);
    free(all->free_frames);
    free(all);
}

static void set_peer(struct co_links *links, int peer, const struct co_link_address *address)
{
    co_links_of(links)->peers[peer].address = *address;
}

static void give_back(struct co_links *links, unsigned frame)
{
    if (co_links_of(links)->context != NULL) {
        co_links_post_frame(co_links_of(links), frame);
    }
}

static void cut(struct co_links *links, int peer)
{
    struct co_links_all *all = co_links_of(links);
    struct co_link *link = &all->peers[peer];
    all->lost -= link->state == CO_LINK_BROKEN && !link->is_told;
    link->is_told = true;
    co_links_drop(all, peer);
    co_links_reads_drop(all, peer, false);
}

static bool is_idle(const struct co_links *links)
{
    const struct co_links_all *all = (const struct co_links_all *)links;
    return all->free_frame_count == all->config.frames && all->reads_out == 0;
}

static const struct co_links_ops ops = {.set_peer = set_peer,
                                        .send = co_links_send,
                                        .poll = co_links_poll,
                                        .give_back = give_back,
                                        .lend = co_links_lend,
                                        .take_back = co_links_take_back,
                                        .read = co_links_read,
                                        .cut = cut,
                                        .is_idle = is_idle,
                                        .let_go = let_go,
                                        .close = close_links};

static int open_all(struct co_links_all *all)
{
    int error = ask_device(all);
    error = error == 0 ? allocate(all) : error;
    if (error == 0) {
        all->domain = ibv_alloc_pd(all->context);
        error = all->domain == NULL ? -EIO : open_memory(all);
    }
    error = error == 0 ? open_queues(all) : error;
    return error == 0 ? co_links_door_open(all) : error;
}

static int open_links(struct co_links **out, const struct co_links_config *config, uint32_t *door, char *why,
                      size_t why_room)
{
    struct co_links_all *all = calloc(1, sizeof *all);
    if (all == NULL) {
        snprintf(why, why_room, "no memory");
        return -ENOMEM;
    }
    *all = (struct co_links_all){.links = {&ops}, .config = *config};
    co_hash_map_open(&all->by_queue_pair);
    all->context = co_verbs_device_named(config->device);
    int error = all->context == NULL ? (errno != 0 ? -errno : -ENODEV) : open_all(all);
    if (error != 0) {
        snprintf(why, why_room, "%s gives no connections, which want %zu KiB of locked memory: %s", config->device,
                 all->memory_bytes >> 10, strerror(-error));
        close_links(&all->links);
        return error;
    }
    all->config.device = NULL; // the caller's
    *door = all->door->qp_num;
    *out = &all->links;
    return 0;
}

const struct co_links_module *co_links_module(void)
{
    static const struct co_links_module module = {CO_LINKS_MODULE_VERSION, open_links};
    return &module;
}
