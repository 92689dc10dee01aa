// SPDX-License-Identifier: BSD-3-Clause
//
// From two strangers to a connection. Who wants to send makes a queue pair and tells the peer's door its number, again
// and again until that one says that it has connected to it; whoever is told a number makes a queue pair, too, if there
// is none, connects, and tells its own. So both may begin at once, and any datagram may be lost or come twice. Warm.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "p2p/channel/links/links_state.h"

#define INVITE_NS (5 * CO_NS_PER_MS) // until the first repetition; then twice as long each time, up to
#define INVITE_MOST_NS CO_NS_PER_S   // that: the peer computes
#define KEY UINT32_C(0x1ca57001)     // of the door (Q_Key); the job's tag tells jobs apart

// What is not answered in 0.54 s is sent again, seven times: a cable that is pulled for two seconds loses no messages.
#define TIMEOUT 17

int co_links_door_fill(struct co_links_all *all, unsigned slot)
{
    struct ibv_sge place = {.addr = (uintptr_t)co_links_door_slot(all, slot),
                            .length = CO_LINKS_GRH + sizeof(struct co_invitation),
                            .lkey = all->region->lkey};
    struct ibv_recv_wr request = {.wr_id = slot, .sg_list = &place, .num_sge = 1}, *bad;
    return -ibv_post_recv(all->door, &request, &bad);
}

int co_links_door_open(struct co_links_all *all)
{
    all->door_done = ibv_create_cq(all->context, 2 * CO_LINKS_DOOR_SLOTS, NULL, NULL, 0);
    if (all->door_done == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    struct ibv_qp_init_attr init = {.send_cq = all->door_done,
                                    .recv_cq = all->door_done,
                                    .qp_type = IBV_QPT_UD,
                                    .cap = {.max_send_wr = CO_LINKS_DOOR_SLOTS,
                                            .max_recv_wr = CO_LINKS_DOOR_SLOTS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = sizeof(struct co_invitation)}};
    all->door = ibv_create_qp(all->domain, &init);
    if (all->door == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    int error = co_verbs_datagrams_init(all->door, all->config.port, KEY);
    for (unsigned slot = 0; error == 0 && slot < CO_LINKS_DOOR_SLOTS; slot++) {
        error = co_links_door_fill(all, slot);
    }
    return error == 0 ? co_verbs_datagrams_start(all->door) : error;
}

void co_links_door_close(struct co_links_all *all)
{
    if (all->door != NULL) {
        ibv_destroy_qp(all->door);
        all->door = NULL;
    }
    if (all->door_done != NULL) {
        ibv_destroy_cq(all->door_done);
        all->door_done = NULL;
    }
}

static struct ibv_ah_attr path_to(const struct co_links_all *all, const struct co_link_address *address)
{
    return co_verbs_path_to(all->config.port, all->config.gid_index, address->gid, address->lid);
}

// Lost where there is no room, or no way now: it is repeated.
static void invite(struct co_links_all *all, int peer)
{
    struct co_link *link = &all->peers[peer];
    struct co_invitation invitation = {.job = all->config.job,
                                       .version = CO_LINKS_MODULE_VERSION,
                                       .rank = (uint32_t)all->config.self,
                                       .queue_pair = link->queue_pair->qp_num,
                                       .first_number = link->first_number,
                                       .mtu = all->mtu,
                                       .reads = all->reads_most,
                                       .has_yours = link->state >= CO_LINK_CONNECTED,
                                       .is_ready = link->state == CO_LINK_READY};
    if (link->door == NULL) {
        struct ibv_ah_attr path = path_to(all, &link->address);
        link->door = ibv_create_ah(all->domain, &path);
    }
    if (link->door != NULL) {
        struct ibv_sge place = {.addr = (uintptr_t)&invitation, .length = sizeof invitation};
        struct ibv_send_wr request = {.wr_id = UINT64_MAX,
                                      .sg_list = &place,
                                      .num_sge = 1,
                                      .opcode = IBV_WR_SEND,
                                      .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
                                      .wr.ud = {link->door, link->address.door, KEY}},
                           *bad;
        ibv_post_send(all->door, &request, &bad);
    }
    link->invite_ns = co_clock_now_ns() + link->pause_ns;
    link->pause_ns = 2 * link->pause_ns < INVITE_MOST_NS ? 2 * link->pause_ns : INVITE_MOST_NS;
}

static int make_queue_pair(struct co_links_all *all, int peer)
{
    struct co_link *link = &all->peers[peer];
    struct ibv_qp_init_attr init = {
        .send_cq = all->done,
        .recv_cq = all->done,
        .srq = all->places,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = all->config.frames + CO_LINKS_READS * CO_LINKS_READ_PARTS, .max_send_sge = 1}};
    link->queue_pair = ibv_create_qp(all->domain, &init);
    if (link->queue_pair == NULL) {
        return errno != 0 ? errno : EIO;
    }
    int error = -co_verbs_connection_init(link->queue_pair, all->config.port);
    link->first_number = (uint32_t)co_clock_now_ns() & CO_VERBS_NUMBER_MASK;
    link->pause_ns = INVITE_NS;
    if (error == 0 && co_hash_map_put(&all->by_queue_pair, link->queue_pair->qp_num, link) != 0) {
        error = ENOMEM;
    }
    return error;
}

// From nothing to a queue pair with a number that can be told. False: it is lost.
static bool begin(struct co_links_all *all, int peer)
{
    int error = make_queue_pair(all, peer);
    if (error != 0) {
        co_links_lose(all, peer, strerror(error));
        return false;
    }
    all->peers[peer].state = CO_LINK_INVITES;
    return true;
}

void co_links_want(struct co_links_all *all, int peer)
{
    struct co_link *link = &all->peers[peer];
    if (link->is_wanted || link->state == CO_LINK_BROKEN) {
        return;
    }
    if (link->state == CO_LINK_NONE && !begin(all, peer)) {
        return;
    }
    link->is_wanted = true;
    if (link->state != CO_LINK_READY) {
        all->waiting++;
        invite(all, peer);
    }
}

static void become_ready(struct co_links_all *all, int peer)
{
    struct co_link *link = &all->peers[peer];
    if (link->state == CO_LINK_CONNECTED) {
        link->state = CO_LINK_READY;
        all->waiting -= link->is_wanted;
    }
}

void co_links_met(struct co_links_all *all, int peer)
{
    become_ready(all, peer);
}

static int connect_to(struct co_links_all *all, struct co_link *link, const struct co_invitation *invitation)
{
    struct co_verbs_connection connection = {
        .path = path_to(all, &link->address),
        .mtu = (enum ibv_mtu)invitation->mtu < all->mtu ? (enum ibv_mtu)invitation->mtu : all->mtu,
        .peer = invitation->queue_pair,
        .peer_number = invitation->first_number,
        .number = link->first_number,
        .reads = invitation->reads < all->reads_most ? invitation->reads : all->reads_most,
        .timeout = TIMEOUT};
    return co_verbs_connection_start(link->queue_pair, &connection);
}

static bool is_valid(const struct co_links_all *all, const struct co_invitation *invitation)
{
    return invitation->job == all->config.job && invitation->version == CO_LINKS_MODULE_VERSION &&
           invitation->rank < (uint32_t)all->config.size && invitation->rank != (uint32_t)all->config.self &&
           invitation->mtu >= IBV_MTU_256 && invitation->mtu <= IBV_MTU_4096 && invitation->reads > 0;
}

static void hear(struct co_links_all *all, const struct co_invitation *invitation)
{
    int peer = (int)invitation->rank;
    struct co_link *link = &all->peers[peer];
    if (link->state == CO_LINK_BROKEN || (link->state == CO_LINK_NONE && !begin(all, peer))) {
        return;
    }
    if (link->state == CO_LINK_INVITES) {
        int error = connect_to(all, link, invitation);
        if (error != 0) {
            co_links_lose(all, peer, strerror(-error));
            return;
        }
        link->state = CO_LINK_CONNECTED;
    }
    if (invitation->has_yours) {
        become_ready(all, peer);
    }
    if (!invitation->is_ready) {
        invite(all, peer);
    }
}

static void hear_all(struct co_links_all *all)
{
    struct ibv_wc done[CO_LINKS_BATCH];
    int count = ibv_poll_cq(all->door_done, CO_LINKS_BATCH, done);
    for (int i = 0; i < count; i++) {
        if (done[i].wr_id == UINT64_MAX) { // of ours
            continue;
        }
        unsigned slot = (unsigned)done[i].wr_id;
        if (done[i].status == IBV_WC_SUCCESS && done[i].byte_len == CO_LINKS_GRH + sizeof(struct co_invitation)) {
            struct co_invitation invitation;
            memcpy(&invitation, co_links_door_slot(all, slot) + CO_LINKS_GRH, sizeof invitation);
            if (is_valid(all, &invitation)) {
                hear(all, &invitation);
            }
        }
        if (done[i].status != IBV_WC_WR_FLUSH_ERR) {
            co_links_door_fill(all, slot);
        }
    }
}

static void invite_again(struct co_links_all *all)
{
    uint64_t now_ns = co_clock_now_ns();
    for (int peer = 0; peer < all->config.size; peer++) {
        const struct co_link *link = &all->peers[peer];
        if (link->is_wanted && (link->state == CO_LINK_INVITES || link->state == CO_LINK_CONNECTED) &&
            now_ns >= link->invite_ns) {
            invite(all, peer);
        }
    }
}

void co_links_door_look(struct co_links_all *all)
{
    hear_all(all);
    if (all->waiting > 0) {
        invite_again(all);
    }
}

// Destroying the queue pair ends all that the device does for it.
void co_links_drop(struct co_links_all *all, int peer)
{
    struct co_link *link = &all->peers[peer];
    if (link->is_wanted && (link->state == CO_LINK_INVITES || link->state == CO_LINK_CONNECTED)) {
        all->waiting--;
    }
    if (link->queue_pair != NULL) {
        co_hash_map_remove(&all->by_queue_pair, link->queue_pair->qp_num);
        ibv_destroy_qp(link->queue_pair);
        link->queue_pair = NULL;
    }
    for (unsigned i = 0; link->frames > 0 && i < all->config.frames; i++) {
        if (all->frames[i].peer == peer) {
            all->frames[i].peer = -1;
            all->frames[i].attempt++;
            all->free_frames[all->free_frame_count++] = (uint16_t)i;
            link->frames--;
        }
    }
    link->parts = 0;
    link->state = CO_LINK_BROKEN;
}

void co_links_lose(struct co_links_all *all, int peer, const char *why)
{
    struct co_link *link = &all->peers[peer];
    char text[160];
    co_links_drop(all, peer);
    co_links_reads_drop(all, peer, true);
    if (!link->is_told) {
        snprintf(text, sizeof text, "the connection to rank %d is lost: %s", peer, why);
        all->config.warn(text);
        all->lost++;
    }
}
