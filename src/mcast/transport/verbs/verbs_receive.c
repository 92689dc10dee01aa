// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving: completions are taken in batches, each datagram is delivered out of its slot, and slots go back to their
// queue pairs in batches, too. Whoever is about to sleep arms the queues and looks once more. Hot, without allocation.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mcast/transport/verbs/verbs_state.h"

struct taken {
    unsigned datagrams;
    size_t bytes;
};

static void give_back(struct co_verbs *verbs, struct co_verbs_ring *ring, uint32_t slot)
{
    ring->free[ring->free_count++] = slot;
    if (ring->free_count == CO_VERBS_BATCH && co_verbs_ring_give_back(verbs, ring) != 0) {
        co_verbs_break(verbs, -EIO, "it takes no receive requests");
    }
}

static bool is_wanted(const struct co_verbs *verbs, unsigned ring)
{
    return ring == verbs->group_count || verbs->groups[ring].is_wanted;
}

static void take(struct co_verbs *verbs, const struct ibv_wc *completion, struct taken *taken, co_deliver_fn deliver,
                 void *arg)
{
    unsigned number = (unsigned)(completion->wr_id >> 32);
    uint32_t slot = (uint32_t)completion->wr_id;
    struct co_verbs_ring *ring = &verbs->rings[number];
    if (completion->status != IBV_WC_SUCCESS) {
        co_verbs_failed(verbs, completion, "a receive");
        return;
    }
    if (completion->byte_len >= CO_VERBS_GRH && is_wanted(verbs, number)) {
        size_t bytes = completion->byte_len - CO_VERBS_GRH;
        uint32_t immediate = completion->wc_flags & IBV_WC_WITH_IMM ? completion->imm_data : 0;
        deliver(arg, ring->slots + slot * verbs->slot_bytes + CO_VERBS_GRH, bytes, immediate);
        taken->datagrams++;
        taken->bytes += bytes;
    }
    give_back(verbs, ring, slot);
}

static int next_batch(struct co_verbs *verbs, struct ibv_wc *completions)
{
    int count = verbs->early_count;
    if (count > 0) {
        for (int i = 0; i < count; i++) {
            completions[i] = verbs->early[i];
        }
        verbs->early_count = 0;
        return count;
    }
    count = ibv_poll_cq(verbs->received, CO_VERBS_BATCH, completions);
    if (count < 0) {
        co_verbs_break(verbs, -EIO, "its completions cannot be polled");
    }
    return count;
}

// For who is about to sleep: whether there is something to do at once.
static void set_awake(struct co_verbs *verbs, bool is_awake)
{
    uint64_t value = 1;
    if (is_awake != verbs->is_awake) {
        ssize_t moved =
            is_awake ? write(verbs->woken_fd, &value, sizeof value) : read(verbs->woken_fd, &value, sizeof value);
        verbs->is_awake = moved == (ssize_t)sizeof value ? is_awake : verbs->is_awake;
    }
}

// What rang, so that the bell's descriptor is not readable for ever.
static void hear_bell(struct co_verbs *verbs)
{
    struct pollfd fd = {.fd = verbs->bell->fd, .events = POLLIN};
    struct ibv_cq *queue;
    void *unused;
    while ((verbs->is_armed[0] || verbs->is_armed[1]) && poll(&fd, 1, 0) > 0 &&
           ibv_get_cq_event(verbs->bell, &queue, &unused) == 0) {
        verbs->is_armed[queue == verbs->sent] = false;
        ibv_ack_cq_events(queue, 1);
    }
}

static void look_at_device(struct co_verbs *verbs)
{
    struct pollfd fd = {.fd = verbs->context->async_fd, .events = POLLIN};
    struct ibv_async_event event;
    if (poll(&fd, 1, 0) <= 0 || ibv_get_async_event(verbs->context, &event) != 0) {
        return;
    }
    bool is_final = event.event_type == IBV_EVENT_DEVICE_FATAL || event.event_type == IBV_EVENT_QP_FATAL ||
                    event.event_type == IBV_EVENT_CQ_ERR || event.event_type == IBV_EVENT_PORT_ERR;
    ibv_ack_async_event(&event);
    if (is_final) {
        co_verbs_break(verbs, -EIO, ibv_event_type_str(event.event_type));
    }
}

int co_verbs_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    struct ibv_wc completions[CO_VERBS_BATCH];
    struct taken taken = {0};
    int count;
    if (verbs->broken != 0) {
        return verbs->broken;
    }
    if (verbs->is_armed[0] || verbs->is_armed[1]) {
        hear_bell(verbs);
        look_at_device(verbs);
    }
    do {
        count = next_batch(verbs, completions);
        for (int i = 0; i < count; i++) {
            take(verbs, &completions[i], &taken, deliver, arg);
        }
    } while (count == CO_VERBS_BATCH && taken.datagrams < budget && verbs->broken == 0);
    for (unsigned i = 0; i <= verbs->group_count && taken.datagrams > 0; i++) {
        struct co_verbs_ring *ring = &verbs->rings[i];
        if (ring->free_count * 4 >= CO_VERBS_BATCH && co_verbs_ring_give_back(verbs, ring) != 0) {
            co_verbs_break(verbs, -EIO, "it takes no receive requests");
        }
    }
    co_verbs_reap(verbs);
    if (taken.datagrams > 0) {
        verbs->config.count(CO_VERBS_RECEIVED, taken.datagrams);
        verbs->config.count(CO_VERBS_RECEIVED_BYTES, taken.bytes);
    }
    return verbs->broken != 0 ? verbs->broken : (int)taken.datagrams;
}

static void arm(struct co_verbs *verbs, bool is_sent)
{
    if (!verbs->is_armed[is_sent]) {
        verbs->is_armed[is_sent] = ibv_req_notify_cq(is_sent ? verbs->sent : verbs->received, 0) == 0;
    }
}

int co_verbs_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    arm(verbs, false);
    if (want_write) {
        arm(verbs, true);
        co_verbs_reap(verbs);
    }
    if (verbs->early_count == 0) { // what came before it was armed rings no bell
        int count = ibv_poll_cq(verbs->received, CO_VERBS_BATCH, verbs->early);
        verbs->early_count = count > 0 ? count : 0;
    }
    bool is_ready = verbs->early_count > 0 || verbs->broken != 0 ||
                    (want_write && verbs->sent_slots - verbs->left_slots < CO_VERBS_SEND_SLOTS);
    set_awake(verbs, is_ready);
    const int descriptors[] = {verbs->woken_fd, verbs->bell->fd, verbs->context->async_fd};
    int count = 0;
    for (; count < 3 && count < room; count++) {
        fds[count] = (struct pollfd){.fd = descriptors[count], .events = POLLIN};
    }
    return count;
}
