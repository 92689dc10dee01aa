// SPDX-License-Identifier: BSD-3-Clause
//
// Life of the two reliable connections (RC) of the ring of nodes, by which a neighbour's memory is read and small
// datagrams are sent to it: made at start of what all ranks have told each other, so nobody has to be asked. The left
// one of a rank leads to the right one of its left neighbour. With their slots, their queue of completions, and the end
// of all that is lent. Cold.
#define _GNU_SOURCE // MADV_DONTFORK
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/memory/zeroed_pages.h"
#include "transport/verbs/verbs_state.h"

// As rdma.md of the specification asks: what is not answered in 67 ms is sent again, seven times.
#define TIMEOUT 14
#define LINE 64
#define DATAGRAMS_BYTES (2 * (size_t)CO_VERBS_RC_DATAGRAMS * CO_VERBS_RC_DATAGRAM_BYTES) // of a connection, both ways
#define COMPLETIONS (2 * (CO_VERBS_READS + CO_VERBS_NEIGHBOURS * 2 * CO_VERBS_RC_DATAGRAMS))

// Without it nothing is read; that is no reason to go without verbs.
static int open_memory(struct co_verbs_reads *all)
{
    struct co_verbs *verbs = all->verbs;
    all->slot_bytes = (verbs->mtu + LINE - 1) / LINE * LINE;
    all->memory_bytes = CO_VERBS_READS * all->slot_bytes + CO_VERBS_NEIGHBOURS * DATAGRAMS_BYTES;
    all->memory = co_zeroed_pages_take(all->memory_bytes);
    if (all->memory == NULL) {
        return -ENOMEM;
    }
    madvise(all->memory, all->memory_bytes, MADV_DONTFORK); // a child would take the pages away from the device
    all->region = ibv_reg_mr(verbs->domain, all->memory, all->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
    all->done = all->region == NULL ? NULL : ibv_create_cq(verbs->context, COMPLETIONS, NULL, verbs->bell, 0);
    return all->done != NULL ? 0 : errno != 0 ? -errno : -ENOMEM;
}

static int open_queue_pair(struct co_verbs *verbs, struct co_verbs_rc *rc)
{
    struct ibv_qp_init_attr init = {.send_cq = verbs->reads.done,
                                    .recv_cq = verbs->reads.done,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = CO_VERBS_READS + CO_VERBS_RC_DATAGRAMS,
                                            .max_recv_wr = CO_VERBS_RC_DATAGRAMS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    rc->peer = -1;
    rc->queue_pair = ibv_create_qp(verbs->domain, &init);
    if (rc->queue_pair == NULL) {
        return errno != 0 ? -errno : -EIO;
    }
    rc->first_number = (uint32_t)(co_clock_now_ns() >> 6) & CO_VERBS_NUMBER_MASK;
    return co_verbs_connection_init(rc->queue_pair, verbs->port, IBV_ACCESS_REMOTE_READ);
}

static uint8_t mtu_of(const struct co_verbs *verbs)
{
    uint8_t mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && (size_t)128 << (mtu + 1) <= verbs->mtu) {
        mtu++;
    }
    return mtu;
}

static void describe_to_peers(struct co_verbs *verbs, struct co_verbs_address *mine)
{
    mine->mtu = mtu_of(verbs);
    mine->reads = verbs->reads.at_once = co_verbs_reads_at_once(verbs->context);
    for (unsigned i = 0; i < CO_VERBS_NEIGHBOURS; i++) {
        mine->rc[i].queue_pair = verbs->reads.rc[i].queue_pair->qp_num;
        mine->rc[i].first_number = verbs->reads.rc[i].first_number;
    }
}

void co_verbs_rc_open(struct co_verbs *verbs, struct co_verbs_address *mine)
{
    struct co_verbs_reads *all = &verbs->reads;
    *all = (struct co_verbs_reads){.reads = {&co_verbs_reads_ops}, .verbs = verbs};
    for (unsigned i = 0; i < CO_VERBS_READS; i++) {
        all->free_slots[all->free_count++] = (uint16_t)i;
    }
    int error = open_memory(all);
    for (unsigned i = 0; error == 0 && i < CO_VERBS_NEIGHBOURS; i++) {
        uint8_t *memory = all->memory + CO_VERBS_READS * all->slot_bytes + i * DATAGRAMS_BYTES;
        error = open_queue_pair(verbs, &all->rc[i]);
        error = error != 0 ? error : co_verbs_rc_datagrams_open(verbs, &all->rc[i], memory);
    }
    if (error != 0) {
        char text[160];
        snprintf(text, sizeof text, "verbs on %s: neighbours' memory cannot be read (%s): repairs are sent",
                 verbs->device, strerror(-error));
        verbs->config.warn(text);
        co_verbs_rc_close(verbs);
        return;
    }
    describe_to_peers(verbs, mine);
    verbs->transport.reads = &all->reads;
}

// Then the device uses none of the memory any more, neither ours nor what is lent.
void co_verbs_rc_close(struct co_verbs *verbs)
{
    struct co_verbs_reads *all = &verbs->reads;
    for (unsigned i = 0; i < CO_VERBS_NEIGHBOURS; i++) {
        if (all->rc[i].queue_pair != NULL) {
            ibv_destroy_qp(all->rc[i].queue_pair);
        }
        all->rc[i] = (struct co_verbs_rc){.peer = -1};
    }
    for (unsigned i = 0; i < CO_VERBS_LOANS; i++) {
        if (all->loans[i].region != NULL) {
            ibv_dereg_mr(all->loans[i].region);
            all->loans[i].region = NULL;
        }
    }
    if (all->done != NULL) {
        ibv_destroy_cq(all->done);
        all->done = NULL;
    }
    if (all->region != NULL) {
        ibv_dereg_mr(all->region);
        all->region = NULL;
    }
    co_zeroed_pages_give(all->memory, all->memory_bytes);
    all->memory = NULL;
    all->memory_bytes = 0;
}

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static int connect_to(struct co_verbs *verbs, struct co_verbs_rc *rc, const struct co_verbs_address *peer,
                      unsigned theirs)
{
    struct co_verbs_connection connection = {.path =
                                                 co_verbs_path_to(verbs->port, verbs->gid_index, peer->gid, peer->lid),
                                             .mtu = (enum ibv_mtu)least(mtu_of(verbs), peer->mtu),
                                             .peer = peer->rc[theirs].queue_pair,
                                             .peer_number = peer->rc[theirs].first_number,
                                             .number = rc->first_number,
                                             .reads = least(verbs->reads.at_once, peer->reads),
                                             .timeout = TIMEOUT};
    return co_verbs_connection_start(rc->queue_pair, &connection);
}

void co_verbs_rc_connect(struct co_verbs *verbs, const int neighbours[CO_VERBS_NEIGHBOURS])
{
    for (unsigned i = 0; i < CO_VERBS_NEIGHBOURS; i++) {
        struct co_verbs_rc *rc = &verbs->reads.rc[i];
        int peer = neighbours[i];
        if (rc->queue_pair == NULL || peer < 0 || peer >= verbs->peer_count) {
            continue;
        }
        const struct co_verbs_address *address = &verbs->peers[peer].address;
        if (address->reads == 0) {
            continue; // it could not make any
        }
        rc->peer = peer;
        rc->is_up = true;
        int error = connect_to(verbs, rc, address, CO_VERBS_NEIGHBOURS - 1 - i);
        if (error != 0) {
            co_verbs_rc_fail(verbs, rc, strerror(-error));
        }
    }
}
