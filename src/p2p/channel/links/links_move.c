// SPDX-License-Identifier: BSD-3-Clause
//
// Frames out and in, and what the device tells. Hot.
#include <errno.h>
#include <string.h>

#include "p2p/channel/links/links_state.h"

#define DOOR_EVERY 32 // polls, while nobody waits for an answer

int co_links_post_frame(struct co_links_all *all, unsigned number)
{
    struct ibv_sge place = {.addr = (uintptr_t)co_links_frame_in(all, number),
                            .length = (uint32_t)all->config.frame_bytes,
                            .lkey = all->region->lkey};
    struct ibv_recv_wr request = {.wr_id = co_link_id(CO_LINK_WORK_FRAME_IN, 0, number),
                                  .sg_list = &place,
                                  .num_sge = 1},
                       *bad;
    return -ibv_post_srq_recv(all->places, &request, &bad);
}

static void fill(unsigned char *frame, const void *first, size_t first_bytes)
{
    if (first_bytes > 0) {
        memcpy(frame, first, first_bytes);
    }
}

bool co_links_send(struct co_links *links, int peer, const void *head, size_t head_bytes, const void *first,
                   size_t first_bytes, const void *second, size_t second_bytes)
{
    struct co_links_all *all = co_links_of(links);
    struct co_link *link = &all->peers[peer];
    if (link->state != CO_LINK_READY) {
        co_links_want(all, peer);
        return link->state == CO_LINK_BROKEN;
    }
    if (all->free_frame_count == 0 || link->frames >= all->config.frames / 2) {
        return false;
    }
    unsigned number = all->free_frames[all->free_frame_count - 1];
    unsigned char *bytes = co_links_frame_out(all, number);
    struct ibv_sge place = {.addr = (uintptr_t)bytes,
                            .length = (uint32_t)(head_bytes + first_bytes + second_bytes),
                            .lkey = all->region->lkey};
    struct ibv_send_wr request = {.wr_id = co_link_id(CO_LINK_WORK_FRAME_OUT, all->frames[number].attempt, number),
                                  .sg_list = &place,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_SEND,
                                  .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    fill(bytes, head, head_bytes);
    fill(bytes + head_bytes, first, first_bytes);
    fill(bytes + head_bytes + first_bytes, second, second_bytes);
    int error = ibv_post_send(link->queue_pair, &request, &bad);
    if (error != 0) {
        co_links_lose(all, peer, strerror(error));
        return true;
    }
    all->free_frame_count--;
    all->frames[number].peer = peer;
    link->frames++;
    return true;
}

static void frame_left(struct co_links_all *all, const struct ibv_wc *done)
{
    unsigned number = co_link_place_of(done->wr_id);
    struct co_link_frame *frame = &all->frames[number];
    int peer = frame->peer;
    if (peer < 0 || !co_link_is_attempt(done->wr_id, frame->attempt)) {
        return; // of a connection that was given up
    }
    frame->peer = -1;
    frame->attempt++;
    all->free_frames[all->free_frame_count++] = (uint16_t)number;
    all->peers[peer].frames--;
    if (done->status != IBV_WC_SUCCESS) {
        co_links_lose(all, peer, ibv_wc_status_str(done->status));
    }
}

// True: it is an event.
static bool frame_came(struct co_links_all *all, const struct ibv_wc *done, struct co_link_event *event)
{
    unsigned number = co_link_place_of(done->wr_id);
    const struct co_link *link = co_hash_map_get(&all->by_queue_pair, done->qp_num);
    if (done->status != IBV_WC_SUCCESS || link == NULL) {
        co_links_post_frame(all, number);
        return false;
    }
    int peer = (int)(link - all->peers);
    co_links_met(all, peer);
    *event = (struct co_link_event){.kind = CO_LINK_FRAME,
                                    .peer = peer,
                                    .frame = number,
                                    .data = co_links_frame_in(all, number),
                                    .bytes = done->byte_len};
    return true;
}

// The head of a failed completion says nothing but its number and its status.
static bool take(struct co_links_all *all, const struct ibv_wc *done, struct co_link_event *event)
{
    if (done->status != IBV_WC_SUCCESS && done->status != IBV_WC_WR_FLUSH_ERR) {
        all->config.count_failed(1);
    }
    switch (co_link_work_of(done->wr_id)) {
    case CO_LINK_WORK_FRAME_IN:
        return frame_came(all, done, event);
    case CO_LINK_WORK_FRAME_OUT:
        frame_left(all, done);
        break;
    case CO_LINK_WORK_READ:
        co_links_read_part_done(all, done);
        break;
    }
    return false;
}

static int tell_lost(struct co_links_all *all, struct co_link_event *events, int most)
{
    int count = 0;
    for (int peer = 0; all->lost > 0 && count < most && peer < all->config.size; peer++) {
        struct co_link *link = &all->peers[peer];
        if (link->state == CO_LINK_BROKEN && !link->is_told) {
            link->is_told = true;
            all->lost--;
            events[count++] = (struct co_link_event){.kind = CO_LINK_LOST, .peer = peer, .result = -ECONNRESET};
        }
    }
    return count;
}

int co_links_poll(struct co_links *links, struct co_link_event *events, int most)
{
    struct co_links_all *all = co_links_of(links);
    struct ibv_wc done[CO_LINKS_BATCH];
    int count = 0, polled;
    if (all->context != NULL && (all->waiting > 0 || all->polls++ % DOOR_EVERY == 0)) {
        co_links_door_look(all);
    }
    do {
        int room = most - count < CO_LINKS_BATCH ? most - count : CO_LINKS_BATCH;
        polled = room == 0 || all->context == NULL ? 0 : ibv_poll_cq(all->done, room, done);
        for (int i = 0; i < polled; i++) {
            count += take(all, &done[i], &events[count]);
        }
    } while (polled == CO_LINKS_BATCH);
    if (polled < 0) { // or whoever waits for a message would wait for ever
        co_links_lose_all(all, "the device's completions cannot be polled");
    }
    if (all->reads_out > 0) {
        co_links_reads_push(all);
        count += co_links_reads_ended(all, events + count, most - count);
    }
    return count + (all->lost > 0 ? tell_lost(all, events + count, most - count) : 0);
}
