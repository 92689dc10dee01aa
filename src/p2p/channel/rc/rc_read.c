// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that is exported, and reads of it: in parts, of which some are under way at a time. Warm.
#include <errno.h>

#include "p2p/channel/rc/rc_state.h"

int co_rc_region_export(struct co_rc *rc, const void *data, size_t bytes, struct co_rc_key *key)
{
    struct co_rc_all *all = co_rc_of(rc);
    unsigned place = 0;
    if (all->context == NULL) {
        return -ENODEV;
    }
    while (place < CO_RC_REGIONS && all->exported[place] != NULL) {
        place++;
    }
    if (place == CO_RC_REGIONS) {
        return -EAGAIN;
    }
    void *start = (void *)(uintptr_t)data; // which is only read
    all->exported[place] = ibv_reg_mr(all->domain, start, bytes, IBV_ACCESS_REMOTE_READ);
    if (all->exported[place] == NULL) {
        return errno != 0 && errno != EAGAIN ? -errno : -ENOMEM;
    }
    *key = (struct co_rc_key){(uintptr_t)data, all->exported[place]->rkey, place};
    return 0;
}

void co_rc_region_release(struct co_rc *rc, const struct co_rc_key *key)
{
    struct co_rc_all *all = co_rc_of(rc);
    if (all->exported[key->place] != NULL) { // or the device is gone
        ibv_dereg_mr(all->exported[key->place]);
        all->exported[key->place] = NULL;
    }
}

static void read_push(struct co_rc_all *all, struct co_rc_reading *read)
{
    struct co_rc_connection *connection = &all->peers[read->peer];
    while (read->requested < read->bytes && read->parts < CO_RC_READ_PARTS &&
           connection->parts < CO_RC_READS * CO_RC_READ_PARTS) {
        size_t left = read->bytes - read->requested, bytes = left < all->part_bytes ? left : all->part_bytes;
        struct ibv_sge place = {
            .addr = (uintptr_t)read->buffer + read->requested, .length = (uint32_t)bytes, .lkey = read->region->lkey};
        struct ibv_send_wr request = {.wr_id = co_rc_id(CO_RC_WORK_READ, read->attempt, (unsigned)(read - all->reads)),
                                      .sg_list = &place,
                                      .num_sge = 1,
                                      .opcode = IBV_WR_RDMA_READ,
                                      .send_flags = IBV_SEND_SIGNALED,
                                      .wr.rdma = {read->from + read->requested, read->key}},
                           *bad;
        if (ibv_post_send(connection->queue_pair, &request, &bad) != 0) {
            break; // later, or never: then the queue pair fails
        }
        read->requested += bytes;
        read->parts++;
        connection->parts++;
    }
}

void co_rc_reads_push(struct co_rc_all *all)
{
    for (unsigned i = 0; i < CO_RC_READS; i++) {
        if (all->reads[i].peer >= 0 && all->reads[i].result == 0) {
            read_push(all, &all->reads[i]);
        }
    }
}

int co_rc_read(struct co_rc *rc, int peer, void *buffer, size_t bytes, const struct co_rc_key *from, void *owner)
{
    struct co_rc_all *all = co_rc_of(rc);
    unsigned place = 0;
    while (place < CO_RC_READS && all->reads[place].peer >= 0) {
        place++;
    }
    if (all->peers[peer].state == CO_RC_BROKEN) {
        return -ECONNRESET;
    }
    if (place == CO_RC_READS || all->peers[peer].state != CO_RC_READY) {
        return -EAGAIN;
    }
    struct co_rc_reading *read = &all->reads[place];
    struct ibv_mr *region = ibv_reg_mr(all->domain, buffer, bytes, IBV_ACCESS_LOCAL_WRITE);
    if (region == NULL) {
        return errno != 0 && errno != EAGAIN ? -errno : -ENOMEM;
    }
    *read = (struct co_rc_reading){.owner = owner,
                                   .peer = peer,
                                   .attempt = read->attempt + 1,
                                   .buffer = buffer,
                                   .bytes = bytes,
                                   .from = from->address,
                                   .key = from->key,
                                   .region = region};
    all->reads_out++;
    read_push(all, read);
    return 0;
}

int co_rc_read_part_done(struct co_rc_all *all, const struct ibv_wc *done)
{
    struct co_rc_reading *read = &all->reads[co_rc_place_of(done->wr_id)];
    if (read->peer < 0 || !co_rc_is_attempt(done->wr_id, read->attempt) || read->parts == 0) {
        return -1; // of a connection that was given up
    }
    read->parts--;
    all->peers[read->peer].parts--;
    return done->status == IBV_WC_SUCCESS ? -1 : read->peer;
}

static void read_end(struct co_rc_all *all, struct co_rc_reading *read)
{
    if (read->region != NULL) {
        ibv_dereg_mr(read->region);
        read->region = NULL;
    }
    read->peer = -1;
    all->reads_out--;
}

// No part of them is under way any more.
void co_rc_reads_drop(struct co_rc_all *all, int peer, bool tells)
{
    for (unsigned i = 0; i < CO_RC_READS; i++) {
        struct co_rc_reading *read = &all->reads[i];
        if (read->peer == peer) {
            read->parts = 0;
            read->result = -ECONNRESET;
            if (!tells) {
                read_end(all, read);
            }
        }
    }
}

// All have been dropped; their ends are still to be told.
void co_rc_reads_let_go(struct co_rc_all *all)
{
    for (unsigned i = 0; i < CO_RC_READS; i++) {
        if (all->reads[i].region != NULL) {
            ibv_dereg_mr(all->reads[i].region);
            all->reads[i].region = NULL;
        }
    }
}

int co_rc_reads_ended(struct co_rc_all *all, struct co_rc_event *events, int most)
{
    int count = 0;
    for (unsigned i = 0; i < CO_RC_READS && count < most; i++) {
        struct co_rc_reading *read = &all->reads[i];
        if (read->peer >= 0 && read->parts == 0 && (read->requested == read->bytes || read->result != 0)) {
            events[count++] = (struct co_rc_event){
                .kind = CO_RC_READ, .peer = read->peer, .result = read->result, .owner = read->owner};
            read_end(all, read);
        }
    }
    return count;
}
