// SPDX-License-Identifier: BSD-3-Clause
//
// The sender: one RDMA write for a chunk, whatever the number of members; after a round, those that somebody lacks
// again.
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/chunk_bitmap.h"
#include "onesided/group/group_state.h"

enum { OUTSTANDING_MAX = 8, WAIT_MS = 1000, BACK_OFF_MS = 50, BACK_OFF_MOST_MS = 1000 };

static int take_completions(struct castoff_group *group)
{
    struct ibv_wc done[OUTSTANDING_MAX];
    int count = ibv_poll_cq(group->queue, OUTSTANDING_MAX, done);
    for (int i = 0; i < count; i++) {
        group->outstanding--;
        if (done[i].status != IBV_WC_SUCCESS) {
            return co_onesided_fail(-EIO, "a write has failed: %s", ibv_wc_status_str(done[i].status));
        }
    }
    return count < 0 ? co_onesided_fail(-EIO, "completions cannot be read") : count;
}

// Sleeps until there is a completion.
static int wait_event(struct castoff_group *group)
{
    struct pollfd entry = {.fd = group->channel->fd, .events = POLLIN};
    struct ibv_cq *queue;
    void *context;
    int ready = poll(&entry, 1, WAIT_MS);
    if (ready > 0 && ibv_get_cq_event(group->channel, &queue, &context) == 0) {
        ibv_ack_cq_events(queue, 1);
    }
    return ready;
}

// Until no more than `most` are outstanding.
static int wait_sent(struct castoff_group *group, unsigned most)
{
    uint64_t until_ns = co_clock_now_ns() + group->patience_ns;
    while (group->outstanding > most) {
        int count = take_completions(group);
        if (count < 0) {
            return count;
        }
        if (count > 0 || group->outstanding <= most) {
            continue;
        }
        ibv_req_notify_cq(group->queue, 0);
        count = take_completions(group); // what came before the notification was asked for
        if (count == 0 && wait_event(group) == 0 && co_clock_now_ns() >= until_ns) {
            return co_onesided_fail(-ETIMEDOUT, "the RDMA device does not send");
        }
        if (count < 0) {
            return count;
        }
    }
    return 0;
}

static void pause_for(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / CO_NS_PER_S), .tv_nsec = (long)(ns % CO_NS_PER_S)};
    if (ns > 0) {
        nanosleep(&time, NULL);
    }
}

static int write_chunk(struct castoff_group *group, uint32_t chunk)
{
    uint64_t offset = (uint64_t)chunk * co_transfer_chunk_bytes(group->bytes);
    struct ibv_sge part = {.addr = (uint64_t)(uintptr_t)(group->buffer + offset),
                           .length = co_transfer_bytes_of(group->bytes, chunk),
                           .lkey = group->region->lkey};
    struct ibv_send_wr request = {.sg_list = &part,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .imm_data = htobe32(co_transfer_immediate(group->transfer, chunk)),
                                  .wr.rdma = {.remote_addr = offset, .rkey = group->setup.key}};
    struct ibv_send_wr *bad;
    int error = wait_sent(group, OUTSTANDING_MAX - 1);
    if (error != 0) {
        return error;
    }
    error = ibv_post_send(group->pair, &request, &bad);
    if (error != 0) {
        return co_onesided_fail(-error, "a write cannot be posted: %s", strerror(error));
    }
    group->outstanding++;
    group->counts.chunks_written++;
    group->counts.bytes_written += part.length;
    pause_for(group->pace.pause_ns > group->pause_ns ? group->pace.pause_ns : group->pause_ns);
    return 0;
}

int castoff_group_write(struct castoff_group *group, size_t offset, size_t bytes)
{
    uint32_t chunk_bytes = co_transfer_chunk_bytes(group->bytes);
    if (!group->is_sender) {
        return co_onesided_fail(-EINVAL, "a member does not write");
    }
    if (offset > group->bytes || bytes > group->bytes - offset) {
        return co_onesided_fail(-ERANGE, "%zu bytes from %zu on are beyond the registered %llu", bytes, offset,
                                (unsigned long long)group->bytes);
    }
    if (offset % chunk_bytes != 0 || ((offset + bytes) % chunk_bytes != 0 && offset + bytes != group->bytes)) {
        return co_onesided_fail(-EINVAL, "%zu bytes from %zu on are no whole chunks of %u", bytes, offset, chunk_bytes);
    }
    for (uint32_t chunk = (uint32_t)(offset / chunk_bytes); (uint64_t)chunk * chunk_bytes < offset + bytes; chunk++) {
        int error = write_chunk(group, chunk);
        if (error != 0) {
            return error;
        }
        co_chunk_bitmap_set(group->bitmap, chunk);
    }
    return 0;
}

static struct group_peer *find_peer(struct castoff_group *group, const char *name)
{
    for (unsigned i = 0; i < group->peer_count; i++) {
        if (strcmp(group->peers[i].name, name) == 0) {
            return &group->peers[i];
        }
    }
    if (group->peer_count == group->members) {
        return NULL; // the coordinator knows more members than it let us have
    }
    struct group_peer *peer = &group->peers[group->peer_count++];
    memcpy(peer->name, name, sizeof peer->name);
    return peer;
}

// What a member lacks is clear in `wanted`.
static void take_missing(struct castoff_group *group)
{
    const struct co_coordination_missing *what = &group->message.missing;
    struct group_peer *peer = find_peer(group, what->name);
    if (peer == NULL || what->transfer != group->transfer || what->round != group->round) {
        return;
    }
    for (uint32_t i = 0; i < what->range_count; i++) {
        for (uint32_t k = 0; k < what->ranges[i].count && what->ranges[i].first + k < group->chunks; k++) {
            co_chunk_bitmap_clear(group->wanted, what->ranges[i].first + k);
        }
    }
    group->gaps = what->range_count > group->gaps ? what->range_count : group->gaps;
    peer->rounds = what->round + 1;
    peer->is_done = what->missing == 0;
}

static unsigned count_silent(const struct castoff_group *group)
{
    unsigned known = 0;
    for (unsigned i = 0; i < group->peer_count; i++) {
        const struct group_peer *peer = &group->peers[i];
        known += peer->is_done || peer->is_lost || peer->rounds == group->round + 1;
    }
    return group->members - known;
}

// Asks all members, and waits for those that have not had everything yet.
static int ask_round(struct castoff_group *group)
{
    uint64_t until_ns = co_clock_now_ns() + group->patience_ns;
    group->message.round = (struct co_coordination_round){.transfer = group->transfer,
                                                          .round = group->round,
                                                          .chunk_bytes = co_transfer_chunk_bytes(group->bytes),
                                                          .chunks = group->chunks};
    group->counts.rounds++;
    memset(group->wanted, 0xff, sizeof group->wanted);
    group->gaps = 0;
    int error = co_onesided_send(group, CO_SAY_ROUND);
    while (error == 0 && count_silent(group) > 0) {
        error = co_onesided_await(group, until_ns);
        if (error == -ETIMEDOUT && !group->is_over) {
            return co_onesided_fail(error, "%u of %u members do not say what they have", count_silent(group),
                                    group->members);
        }
        struct group_peer *peer =
            error == 0 && group->message.kind == CO_SAY_MEMBER_LOST ? find_peer(group, group->message.name) : NULL;
        if (peer != NULL) {
            peer->is_lost = true;
        } else if (error == 0 && group->message.kind == CO_SAY_MISSING) {
            take_missing(group);
        }
    }
    return error;
}

static int repair(struct castoff_group *group, uint32_t *repaired)
{
    uint32_t chunk = 0;
    *repaired = 0;
    while ((chunk = co_chunk_bitmap_find(group->wanted, chunk, group->chunks, false)) < group->chunks) {
        int error = write_chunk(group, chunk++);
        if (error != 0) {
            return error;
        }
        (*repaired)++;
        group->counts.chunks_repaired++;
    }
    return 0;
}

static int end_transfer(struct castoff_group *group)
{
    unsigned lost = 0;
    const char *name = "";
    for (unsigned i = 0; i < group->peer_count; i++) {
        struct group_peer *peer = &group->peers[i];
        if (!peer->is_done) { // or it left when it had everything
            lost++;
            name = peer->name;
        }
        peer->is_done = false;
        peer->rounds = 0;
    }
    group->transfer++;
    group->round = 0;
    group->counts.members_lost = lost;
    memset(group->bitmap, 0, sizeof group->bitmap);
    return lost == 0 ? 0
                     : co_onesided_fail(-EPIPE, "%u members were lost (%s%s); the others have everything", lost, name,
                                        lost > 1 ? " and others" : "");
}

int co_onesided_sender_complete(struct castoff_group *group)
{
    uint64_t progress_ns = co_clock_now_ns(), began_ns = progress_ns;
    uint32_t sent = group->chunks, least = group->chunks + 1;
    int back_off_ms = 0;
    if (co_chunk_bitmap_count_clear(group->bitmap, 0, group->chunks) > 0) {
        return co_onesided_fail(-EINVAL, "%u of %u chunks have not been written yet",
                                co_chunk_bitmap_count_clear(group->bitmap, 0, group->chunks), group->chunks);
    }
    for (;;) {
        int error = wait_sent(group, 0);
        error = error != 0 ? error : ask_round(group);
        if (error != 0) {
            return error;
        }
        uint32_t missing = co_chunk_bitmap_count_clear(group->wanted, 0, group->chunks);
        if (missing == 0) {
            return end_transfer(group);
        }
        bool is_better = missing < least;
        least = is_better ? missing : least;
        progress_ns = is_better ? co_clock_now_ns() : progress_ns;
        if (co_clock_now_ns() - progress_ns > group->patience_ns) {
            return co_onesided_fail(-ETIMEDOUT,
                                    "%u of %u chunks do not arrive: is there a hop on the way, with its rules?",
                                    missing, group->chunks);
        }
        back_off_ms = is_better ? 0 : back_off_ms == 0 ? BACK_OFF_MS : 2 * back_off_ms;
        back_off_ms = back_off_ms > BACK_OFF_MOST_MS ? BACK_OFF_MOST_MS : back_off_ms;
        poll(NULL, 0, back_off_ms);
        co_transfer_pace_learn(&group->pace, sent, co_clock_now_ns() - began_ns, group->gaps);
        began_ns = co_clock_now_ns();
        error = repair(group, &sent);
        if (error != 0) {
            return error;
        }
        group->round++;
    }
}
