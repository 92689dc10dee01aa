// SPDX-License-Identifier: BSD-3-Clause
//
// Memory and queue pairs: one block, registered once, is cut into slots of a datagram each; every queue pair has its
// slots posted before anybody may send. Opening is cold, giving slots back is hot and goes in batches.
#define _GNU_SOURCE // MADV_DONTFORK
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/memory/zeroed_pages.h"
#include "transport/verbs/verbs_state.h"

#define LINE 64
#define SLOTS_LEAST 64
#define OWN_SHARE 4 // of the slots that the groups have together, one in so many is for what comes to us alone

// Where the lines of neighbouring slots do not meet in the same cache sets.
static size_t slot_bytes_of(size_t mtu)
{
    size_t bytes = (CO_VERBS_GRH + mtu + LINE - 1) / LINE * LINE;
    return (bytes / LINE) % 2 == 0 ? bytes + LINE : bytes;
}

static unsigned at_least(size_t count)
{
    return count < SLOTS_LEAST ? SLOTS_LEAST : (unsigned)count;
}

static void count_slots(struct co_verbs *verbs)
{
    size_t all = verbs->config.receive_bytes / verbs->mtu;
    for (unsigned i = 0; i < verbs->group_count; i++) {
        verbs->rings[i].count = at_least(all / verbs->group_count);
    }
    co_verbs_own_ring(verbs)->count = at_least(all / OWN_SHARE);
}

static void say_locked(const struct co_verbs *verbs, int error, char *why, size_t why_room)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < verbs->memory_bytes) {
        snprintf(why, why_room, "%s needs %zu KiB of locked memory, of which ulimit -l allows %zu KiB; raise it",
                 verbs->device, verbs->memory_bytes >> 10, (size_t)limit.rlim_cur >> 10);
    } else {
        snprintf(why, why_room, "%zu KiB cannot be registered with %s: %s", verbs->memory_bytes >> 10, verbs->device,
                 strerror(error));
    }
}

static int register_memory(struct co_verbs *verbs, char *why, size_t why_room)
{
    size_t slots = 0;
    verbs->slot_bytes = slot_bytes_of(verbs->mtu);
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        slots += verbs->rings[i].count;
    }
    verbs->memory_bytes = (slots + CO_VERBS_SEND_SLOTS) * verbs->slot_bytes;
    verbs->memory = co_zeroed_pages_take(verbs->memory_bytes);
    if (verbs->memory == NULL) {
        snprintf(why, why_room, "no memory for %zu KiB of slots", verbs->memory_bytes >> 10);
        return -ENOMEM;
    }
    madvise(verbs->memory, verbs->memory_bytes, MADV_DONTFORK); // a child would take the pages away from the device
    verbs->region = ibv_reg_mr(verbs->domain, verbs->memory, verbs->memory_bytes, IBV_ACCESS_LOCAL_WRITE);
    if (verbs->region == NULL) {
        int error = errno != 0 ? errno : ENOMEM;
        say_locked(verbs, error, why, why_room);
        return -error;
    }
    verbs->receives = calloc(slots, sizeof *verbs->receives);
    if (verbs->receives == NULL) {
        snprintf(why, why_room, "no memory for %zu receives", slots);
        return -ENOMEM;
    }
    uint8_t *at = verbs->memory;
    struct co_receive *receives = verbs->receives;
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        verbs->rings[i].slots = at;
        verbs->rings[i].receives = receives;
        at += verbs->rings[i].count * verbs->slot_bytes;
        receives += verbs->rings[i].count;
    }
    verbs->send_slots = at;
    return 0;
}

static int open_queues(struct co_verbs *verbs)
{
    int slots = 0;
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        slots += (int)verbs->rings[i].count;
    }
    verbs->bell = ibv_create_comp_channel(verbs->context);
    verbs->received = verbs->bell == NULL ? NULL : ibv_create_cq(verbs->context, slots, NULL, verbs->bell, 0);
    verbs->sent =
        verbs->received == NULL ? NULL : ibv_create_cq(verbs->context, CO_VERBS_SEND_SLOTS, NULL, verbs->bell, 0);
    return verbs->sent != NULL ? 0 : errno != 0 ? -errno : -EIO;
}

static int create_queue_pair(struct co_verbs *verbs, struct co_verbs_ring *ring, bool sends)
{
    struct ibv_qp_init_attr init = {.send_cq = verbs->sent,
                                    .recv_cq = verbs->received,
                                    .qp_type = IBV_QPT_UD,
                                    .cap = {.max_send_wr = sends ? CO_VERBS_SEND_SLOTS : 1,
                                            .max_recv_wr = ring->count,
                                            .max_send_sge = CO_VERBS_PIECES,
                                            .max_recv_sge = 1}};
    ring->queue_pair = ibv_create_qp(verbs->domain, &init);
    return ring->queue_pair != NULL ? 0 : errno != 0 ? -errno : -EIO;
}

static uint32_t key_of(const struct co_verbs *verbs, const struct co_verbs_ring *ring)
{
    size_t index = (size_t)(ring - verbs->rings);
    return index < verbs->group_count && verbs->groups[index].is_attached ? verbs->groups[index].key
                                                                          : verbs->config.key;
}

// The datapath kernel links receives as the verbs interface wants them, without knowing it.
_Static_assert(offsetof(struct co_receive, id) == offsetof(struct ibv_recv_wr, wr_id) &&
                   offsetof(struct co_receive, next) == offsetof(struct ibv_recv_wr, next) &&
                   offsetof(struct co_receive, place) == offsetof(struct ibv_recv_wr, sg_list) &&
                   offsetof(struct co_receive, places) == offsetof(struct ibv_recv_wr, num_sge),
               "struct ibv_recv_wr");
_Static_assert(sizeof(struct co_receive_place) == sizeof(struct ibv_sge) &&
                   offsetof(struct co_receive_place, address) == offsetof(struct ibv_sge, addr) &&
                   offsetof(struct co_receive_place, bytes) == offsetof(struct ibv_sge, length) &&
                   offsetof(struct co_receive_place, key) == offsetof(struct ibv_sge, lkey),
               "struct ibv_sge");

int co_verbs_ring_give_back(struct co_verbs_ring *ring)
{
    struct ibv_recv_wr *bad, *first = (struct ibv_recv_wr *)co_receive_queue_take(&ring->queue);
    return first == NULL ? 0 : -ibv_post_recv(ring->queue_pair, first, &bad);
}

static int post_all(struct co_verbs *verbs, struct co_verbs_ring *ring)
{
    struct co_receive_queue *queue = &ring->queue;
    queue->end = &queue->first;
    queue->free = 0;
    queue->operation = CO_COMPLETION_RECEIVED;
    queue->skip_bytes = CO_VERBS_GRH;
    for (uint32_t slot = 0; slot < ring->count; slot++) {
        struct co_receive *receive = &ring->receives[slot];
        const uint8_t *memory = ring->slots + slot * verbs->slot_bytes;
        *receive = (struct co_receive){.id = (uintptr_t)receive,
                                       .place = &receive->where,
                                       .places = 1,
                                       .queue = queue,
                                       .data = memory + CO_VERBS_GRH,
                                       .where = {.address = (uintptr_t)memory,
                                                 .bytes = (uint32_t)(CO_VERBS_GRH + verbs->mtu),
                                                 .key = verbs->region->lkey}};
        *queue->end = receive;
        queue->end = &receive->next;
        queue->free++;
    }
    return co_verbs_ring_give_back(ring);
}

int co_verbs_ring_start(struct co_verbs *verbs, struct co_verbs_ring *ring)
{
    int error = co_verbs_datagrams_init(ring->queue_pair, verbs->port, key_of(verbs, ring));
    error = error == 0 ? post_all(verbs, ring) : error;
    return error == 0 ? co_verbs_datagrams_start(ring->queue_pair) : error;
}

// Then the device neither reads nor writes the memory of its work requests any more, and what they were is lost.
void co_verbs_ring_stop(struct co_verbs *verbs, struct co_verbs_ring *ring)
{
    struct ibv_qp_attr state = {.qp_state = IBV_QPS_RESET};
    int error = ibv_modify_qp(ring->queue_pair, &state, IBV_QP_STATE);
    if (error != 0) {
        co_verbs_break(verbs, -error, "a failed queue pair cannot be reset");
    }
    if (ring == co_verbs_own_ring(verbs)) {
        verbs->left_slots = verbs->sent_slots;
    }
}

int co_verbs_rings_open(struct co_verbs *verbs, char *why, size_t why_room)
{
    verbs->domain = ibv_alloc_pd(verbs->context);
    if (verbs->domain == NULL) {
        snprintf(why, why_room, "%s gives no protection domain", verbs->device);
        return -EIO;
    }
    count_slots(verbs);
    int error = register_memory(verbs, why, why_room);
    if (error != 0) {
        return error;
    }
    error = open_queues(verbs);
    for (unsigned i = 0; error == 0 && i <= verbs->group_count; i++) {
        error = create_queue_pair(verbs, &verbs->rings[i], i == verbs->group_count);
        error = error == 0 ? co_verbs_ring_start(verbs, &verbs->rings[i]) : error;
    }
    co_verbs_own_ring(verbs)->queue.is_wanted = true;
    if (error != 0) {
        snprintf(why, why_room, "queue pairs cannot be had of %s: %s", verbs->device, strerror(-error));
    }
    return error;
}

// Then the device uses no memory any more.
void co_verbs_rings_close_queues(struct co_verbs *verbs)
{
    for (unsigned i = 0; i <= verbs->group_count; i++) {
        if (verbs->rings[i].queue_pair != NULL) {
            ibv_destroy_qp(verbs->rings[i].queue_pair);
        }
    }
    if (verbs->sent != NULL) {
        ibv_destroy_cq(verbs->sent);
    }
    if (verbs->received != NULL) {
        ibv_destroy_cq(verbs->received);
    }
    if (verbs->bell != NULL) {
        ibv_destroy_comp_channel(verbs->bell);
    }
}

void co_verbs_rings_close(struct co_verbs *verbs)
{
    if (verbs->region != NULL) {
        ibv_dereg_mr(verbs->region);
    }
    free(verbs->receives);
    co_zeroed_pages_give(verbs->memory, verbs->memory_bytes);
    if (verbs->domain != NULL) {
        ibv_dealloc_pd(verbs->domain);
    }
}
