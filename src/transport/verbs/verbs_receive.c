// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving: completions are taken in batches, which the datapath kernel reads; datagrams are delivered out of their
// slots, and slots go back to their queue pairs in batches, too. Whoever is about to sleep arms the queues and looks
// once more. Hot, without allocation.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/verbs/verbs_state.h"

struct taken {
    unsigned datagrams;
    size_t bytes;
};

#define IS_SAME(field, of_ibv)                                                                                         \
    (offsetof(struct co_completion, field) == offsetof(struct ibv_wc, of_ibv) &&                                       \
     sizeof(((struct co_completion *)0)->field) == sizeof(((struct ibv_wc *)0)->of_ibv))
_Static_assert(sizeof(struct co_completion) == sizeof(struct ibv_wc) && IS_SAME(id, wr_id) && IS_SAME(status, status) &&
                   IS_SAME(operation, opcode) && IS_SAME(bytes, byte_len) && IS_SAME(immediate, imm_data) &&
                   IS_SAME(flags, wc_flags),
               "struct ibv_wc");
_Static_assert(IBV_WC_SUCCESS == 0 && IBV_WC_RECV == CO_COMPLETION_RECEIVED &&
                   IBV_WC_RECV_RDMA_WITH_IMM == CO_COMPLETION_WRITTEN,
               "of verbs");

static struct co_verbs_ring *ring_of(const union co_verbs_completion *completion)
{
    const struct co_receive *receive = (const struct co_receive *)(uintptr_t)completion->read.id;
    return (struct co_verbs_ring *)((char *)receive->queue - offsetof(struct co_verbs_ring, queue));
}

static void say_failed(struct co_verbs *verbs, const union co_verbs_completion *completions, int count)
{
    for (int i = 0; i < count; i++) {
        if (completions[i].polled.status != IBV_WC_SUCCESS) {
            co_verbs_failed(verbs, ring_of(&completions[i]), &completions[i].polled, "a receive",
                            &verbs->said_of_receives);
        }
    }
}

static uint32_t failed_so_far(const struct co_verbs *verbs)
{
    uint32_t failed = 0;
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        failed += verbs->rings[i].queue.failed;
    }
    return failed;
}

static void give_back(struct co_verbs *verbs, unsigned least)
{
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        struct co_verbs_ring *ring = &verbs->rings[i];
        bool takes_them = ring->state == CO_VERBS_RING_RUNS && ring->queue.free >= least;
        if (takes_them && co_verbs_ring_give_back(ring) != 0) {
            co_verbs_ring_fail(verbs, ring);
        }
    }
}

static void take(struct co_verbs *verbs, const union co_verbs_completion *completions, int count, struct taken *taken,
                 co_deliver_fn deliver, void *arg)
{
    struct co_arrival arrivals[CO_VERBS_BATCH];
    uint32_t failed = failed_so_far(verbs);
    unsigned arrived = co_verbs_completions_read(&completions[0].read, (unsigned)count, arrivals);
    if (failed_so_far(verbs) != failed) {
        say_failed(verbs, completions, count);
    }
    for (unsigned i = 0; i < arrived; i++) {
        taken->bytes += arrivals[i].bytes;
    }
    taken->datagrams += arrived;
    if (arrived > 0) {
        deliver(arg, arrivals, arrived);
    }
    give_back(verbs, CO_VERBS_BATCH);
}

static int next_batch(struct co_verbs *verbs, union co_verbs_completion *completions)
{
    int count = verbs->early_count;
    if (count > 0) {
        for (int i = 0; i < count; i++) {
            completions[i] = verbs->early[i];
        }
        verbs->early_count = 0;
        return count;
    }
    count = ibv_poll_cq(verbs->received, CO_VERBS_BATCH, &completions[0].polled);
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
            is_awake ? write(verbs->woken.fd, &value, sizeof value) : read(verbs->woken.fd, &value, sizeof value);
        verbs->is_awake = moved == (ssize_t)sizeof value ? is_awake : verbs->is_awake;
    }
}

static bool is_armed(const struct co_verbs *verbs)
{
    return verbs->is_armed[0] || verbs->is_armed[1] || verbs->is_armed[2];
}

// What rang, so that the bell's descriptor is not readable for ever.
static void hear_bell(struct co_verbs *verbs)
{
    struct pollfd fd = {.fd = verbs->bell->fd, .events = POLLIN};
    struct ibv_cq *queue;
    void *unused;
    while (is_armed(verbs) && poll(&fd, 1, 0) > 0 && ibv_get_cq_event(verbs->bell, &queue, &unused) == 0) {
        verbs->is_armed[queue == verbs->sent ? 1 : queue == verbs->reads.done ? 2 : 0] = false;
        ibv_ack_cq_events(queue, 1);
    }
}

int co_verbs_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    union co_verbs_completion completions[CO_VERBS_BATCH];
    struct taken taken = {0};
    int count;
    if (verbs->broken != 0) {
        return verbs->broken;
    }
    bool has_slept = is_armed(verbs), was_early = false;
    if (has_slept && !co_verbs_is_own(verbs)) {
        return verbs->broken;
    }
    if (has_slept) {
        hear_bell(verbs);
    }
    do {
        was_early = verbs->early_count > 0;
        count = next_batch(verbs, completions);
        if (count > 0) {
            take(verbs, completions, count, &taken, deliver, arg);
        }
    } while (count == CO_VERBS_BATCH && taken.datagrams < budget && verbs->broken == 0);
    give_back(verbs, CO_VERBS_BATCH / 4);
    unsigned read = co_verbs_reads_deliver(verbs, deliver, arg) + co_verbs_rc_datagrams_deliver(verbs, deliver, arg);
    co_verbs_reap(verbs);
    co_verbs_health_progress(verbs, has_slept, count < CO_VERBS_BATCH && !was_early);
    if (taken.datagrams > 0) {
        verbs->config.count(CO_VERBS_RECEIVED, taken.datagrams);
        verbs->config.count(CO_VERBS_RECEIVED_BYTES, taken.bytes);
    }
    return verbs->broken != 0 ? verbs->broken : (int)(taken.datagrams + read);
}

static void arm(struct co_verbs *verbs, unsigned which, struct ibv_cq *queue)
{
    if (!verbs->is_armed[which]) {
        verbs->is_armed[which] = ibv_req_notify_cq(queue, 0) == 0;
    }
}

int co_verbs_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    if (verbs->has_let_go || !co_verbs_is_own(verbs)) {
        return 0;
    }
    arm(verbs, 0, verbs->received);
    if (co_verbs_rc_is_used(&verbs->reads)) {
        arm(verbs, 2, verbs->reads.done);
    }
    if (want_write) {
        arm(verbs, 1, verbs->sent);
        co_verbs_reap(verbs);
    }
    if (verbs->early_count == 0) { // what came before it was armed rings no bell
        int count = ibv_poll_cq(verbs->received, CO_VERBS_BATCH, &verbs->early[0].polled);
        verbs->early_count = count > 0 ? count : 0;
    }
    bool has_room =
        verbs->sent_slots - verbs->left_slots < CO_VERBS_SEND_SLOTS && verbs->left_slots >= verbs->awaited_slots;
    bool is_ready =
        verbs->early_count > 0 || co_verbs_reads_reap(verbs) || verbs->broken != 0 || (want_write && has_room);
    set_awake(verbs, is_ready);
    const int descriptors[] = {verbs->woken.fd, verbs->bell->fd, verbs->context->async_fd, verbs->events->fd};
    int count = 0;
    for (; count < 4 && count < room; count++) {
        fds[count] = (struct pollfd){.fd = descriptors[count], .events = POLLIN};
    }
    return count;
}
