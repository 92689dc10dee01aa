// SPDX-License-Identifier: BSD-3-Clause
//
// The two reliable connections of the ring of nodes: made at start of what all ranks have told each other, so nobody
// has to be asked. The left one of a rank leads to the right one of its left neighbour. Cold, but for finding one.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "transport/verbs/verbs_state.h"

// As rdma.md of the specification asks: what is not answered in 67 ms is sent again, seven times.
#define TIMEOUT 14

int co_verbs_link_open(struct co_verbs *verbs, struct co_verbs_link *link)
{
    struct ibv_qp_init_attr init = {.send_cq = verbs->reads.done,
                                    .recv_cq = verbs->reads.done,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = CO_VERBS_READS + CO_VERBS_WORDS,
                                            .max_recv_wr = CO_VERBS_WORDS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    link->peer = -1;
    link->queue_pair = ibv_create_qp(verbs->domain, &init);
    if (link->queue_pair == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    link->first_number = (uint32_t)(co_clock_now_ns() >> 6) & CO_VERBS_NUMBER_MASK;
    return co_verbs_connection_init(link->queue_pair, verbs->port);
}

struct co_verbs_link *co_verbs_link_to(struct co_verbs_reads *all, int peer)
{
    struct co_verbs_link *link = all->links;
    while (link != all->links + CO_VERBS_LINKS && !(link->is_up && link->peer == peer)) {
        link++;
    }
    return link != all->links + CO_VERBS_LINKS && all->verbs->broken == 0 ? link : NULL;
}

bool co_verbs_links_are_used(const struct co_verbs_reads *all)
{
    return all->links[0].is_up || all->links[1].is_up;
}

struct co_verbs_link *co_verbs_link_of(struct co_verbs *verbs, const struct ibv_qp *queue_pair)
{
    for (unsigned i = 0; i < CO_VERBS_LINKS; i++) {
        if (queue_pair != NULL && verbs->reads.links[i].queue_pair == queue_pair) {
            return &verbs->reads.links[i];
        }
    }
    return NULL;
}

// Without its queue pair the device writes to none of its slots any more, but for what has ended.
void co_verbs_link_fail(struct co_verbs *verbs, struct co_verbs_link *link, const char *why)
{
    struct co_verbs_reads *all = &verbs->reads;
    char text[200];
    if (!link->is_up) {
        return;
    }
    link->is_up = false;
    ibv_destroy_qp(link->queue_pair);
    link->queue_pair = NULL;
    for (unsigned slot = 0; slot < CO_VERBS_READS; slot++) {
        if (all->slots[slot].number != 0 && all->slots[slot].link == link && !all->slots[slot].has_ended) {
            verbs->config.count(CO_VERBS_FLUSHED, 1);
            co_verbs_read_free(all, slot);
        }
    }
    snprintf(text, sizeof text, "verbs on %s: memory of rank %d cannot be read any more: %s; repairs are sent",
             verbs->device, link->peer, why);
    verbs->config.warn(text);
}

static uint8_t mtu_of(const struct co_verbs *verbs)
{
    uint8_t mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && (size_t)128 << (mtu + 1) <= verbs->mtu) {
        mtu++;
    }
    return mtu;
}

void co_verbs_links_tell(struct co_verbs *verbs, struct co_verbs_address *mine)
{
    mine->mtu = mtu_of(verbs);
    mine->reads = verbs->reads.at_once = co_verbs_reads_at_once(verbs->context);
    for (unsigned i = 0; i < CO_VERBS_LINKS; i++) {
        mine->links[i].queue_pair = verbs->reads.links[i].queue_pair->qp_num;
        mine->links[i].first_number = verbs->reads.links[i].first_number;
    }
}

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static int connect_to(struct co_verbs *verbs, struct co_verbs_link *link, const struct co_verbs_address *peer,
                      unsigned theirs)
{
    struct co_verbs_connection connection = {.path =
                                                 co_verbs_path_to(verbs->port, verbs->gid_index, peer->gid, peer->lid),
                                             .mtu = (enum ibv_mtu)least(mtu_of(verbs), peer->mtu),
                                             .peer = peer->links[theirs].queue_pair,
                                             .peer_number = peer->links[theirs].first_number,
                                             .number = link->first_number,
                                             .reads = least(verbs->reads.at_once, peer->reads),
                                             .timeout = TIMEOUT};
    return co_verbs_connection_start(link->queue_pair, &connection);
}

void co_verbs_links_connect(struct co_verbs *verbs, const int neighbours[CO_VERBS_LINKS])
{
    for (unsigned i = 0; i < CO_VERBS_LINKS; i++) {
        struct co_verbs_link *link = &verbs->reads.links[i];
        int peer = neighbours[i];
        if (link->queue_pair == NULL || peer < 0 || peer >= verbs->peer_count) {
            continue;
        }
        const struct co_verbs_address *address = &verbs->peers[peer].address;
        if (address->reads == 0) {
            continue; // it could not make any
        }
        link->peer = peer;
        link->is_up = true;
        int error = connect_to(verbs, link, address, CO_VERBS_LINKS - 1 - i);
        if (error != 0) {
            co_verbs_link_fail(verbs, link, strerror(-error));
        }
    }
}

void co_verbs_links_describe(const struct co_verbs *verbs, char *text, size_t room)
{
    const struct co_verbs_link *links = verbs->reads.links;
    if (room > 0) {
        text[0] = '\0';
    }
    if (links[0].is_up && links[1].is_up) {
        snprintf(text, room, ", reads memory of ranks %d and %d", links[0].peer, links[1].peer);
    } else if (links[0].is_up || links[1].is_up) {
        snprintf(text, room, ", reads memory of rank %d", links[links[1].is_up].peer);
    }
}
