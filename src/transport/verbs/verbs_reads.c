// SPDX-License-Identifier: BSD-3-Clause
//
// Reading of neighbours' memory: two reliable connections (RC), to the neighbours on the ring of nodes, whatever the
// number of ranks. RDMA READs go into slots of our own between head and tail, and come by poll as datagrams do; so the
// device never writes to the program's memory, and what it brings late harms nobody. A connection that fails is not
// made again. Warm: only what was lost is read.
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "transport/verbs/verbs_state.h"

#define PATIENCE_NS (UINT64_C(2) * CO_NS_PER_S) // with a read: Soft-RoCE repeats for ever where 7 times are allowed

static struct co_verbs_reads *of(struct co_reads *reads)
{
    return (struct co_verbs_reads *)reads;
}

static bool is_connected(const struct co_reads *reads, int peer)
{
    return co_verbs_rc_to(of((struct co_reads *)reads), peer) != NULL;
}

// Pages that have yet to be written must be pinned as such, or those that will be written are others.
static int lend(struct co_reads *reads, struct co_loan **out, const void *start, size_t bytes, bool may_change,
                uint32_t *key)
{
    struct co_verbs_reads *all = of(reads);
    unsigned place = 0;
    while (place < CO_VERBS_LOANS && all->loans[place].is_taken) {
        place++;
    }
    if (place == CO_VERBS_LOANS || all->verbs->broken != 0) {
        return -EAGAIN;
    }
    int access = IBV_ACCESS_REMOTE_READ | (may_change ? IBV_ACCESS_LOCAL_WRITE : 0);
    struct co_loan *loan = &all->loans[place];
    loan->region = ibv_reg_mr(all->verbs->domain, (void *)(uintptr_t)start, bytes, access);
    if (loan->region == NULL) {
        all->verbs->config.count(CO_VERBS_UNREGISTERED, 1);
        return errno != 0 ? -errno : -ENOMEM;
    }
    loan->is_taken = true;
    *key = loan->region->rkey;
    *out = loan;
    return 0;
}

static void take_back(struct co_reads *reads, struct co_loan *loan)
{
    (void)reads;
    if (loan->region != NULL) { // or the device has gone
        ibv_dereg_mr(loan->region);
    }
    *loan = (struct co_loan){.is_taken = false};
}

static uint8_t *slot_at(const struct co_verbs_reads *all, unsigned slot)
{
    return all->memory + slot * all->slot_bytes;
}

static int start(struct co_reads *reads, const struct co_read *read, uint64_t *number)
{
    struct co_verbs_reads *all = of(reads);
    struct co_verbs_rc *rc = co_verbs_rc_to(all, read->peer);
    if (rc == NULL) {
        return -ENOTCONN;
    }
    size_t bytes = (size_t)read->head_bytes + read->bytes + read->tail_bytes;
    if (bytes > all->verbs->mtu) {
        return -EMSGSIZE;
    }
    if (all->free_count == 0) {
        return -EAGAIN;
    }
    unsigned slot = all->free_slots[all->free_count - 1];
    uint8_t *data = slot_at(all, slot);
    memcpy(data, read->head, read->head_bytes);
    memcpy(data + read->head_bytes + read->bytes, read->tail, read->tail_bytes);
    struct ibv_sge place = {
        .addr = (uintptr_t)data + read->head_bytes, .length = read->bytes, .lkey = all->region->lkey};
    struct ibv_send_wr request = {.wr_id = (all->started + 1) * CO_VERBS_READS + slot,
                                  .sg_list = &place,
                                  .num_sge = 1,
                                  .opcode = IBV_WR_RDMA_READ,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .wr.rdma = {read->address, read->key}},
                       *bad;
    if (ibv_post_send(rc->queue_pair, &request, &bad) != 0) {
        return -EAGAIN;
    }
    all->free_count--;
    all->slots[slot] = (struct co_verbs_read){
        .number = ++all->started, .started_ns = co_clock_now_ns(), .rc = rc, .bytes = bytes, .read_bytes = read->bytes};
    *number = all->started;
    return 0;
}

static bool is_under_way(const struct co_reads *reads, uint64_t number)
{
    const struct co_verbs_reads *all = (const struct co_verbs_reads *)reads;
    unsigned slot = 0;
    while (slot < CO_VERBS_READS && all->slots[slot].number != number) {
        slot++;
    }
    return slot < CO_VERBS_READS && all->verbs->broken == 0;
}

static struct co_verbs_read *oldest(struct co_verbs_reads *all)
{
    struct co_verbs_read *found = NULL;
    for (unsigned slot = 0; all->free_count < CO_VERBS_READS && slot < CO_VERBS_READS; slot++) {
        struct co_verbs_read *read = &all->slots[slot];
        if (read->number != 0 && !read->has_ended && (found == NULL || read->number < found->number)) {
            found = read;
        }
    }
    return found;
}

uint64_t co_verbs_reads_due_ns(const struct co_verbs *verbs)
{
    const struct co_verbs_read *read = oldest((struct co_verbs_reads *)&verbs->reads);
    return read == NULL ? 0 : read->started_ns + PATIENCE_NS;
}

void co_verbs_reads_poll(struct co_verbs *verbs, uint64_t now_ns)
{
    for (unsigned i = 0; i < CO_VERBS_NEIGHBOURS; i++) {
        struct co_verbs_rc *rc = &verbs->reads.rc[i];
        if (rc->bad_news != NULL) {
            co_verbs_rc_fail(verbs, rc, rc->bad_news);
        }
    }
    const struct co_verbs_read *read = oldest(&verbs->reads);
    if (read != NULL && now_ns - read->started_ns >= PATIENCE_NS) {
        co_verbs_rc_fail(verbs, read->rc, "no answer for two seconds");
    }
}

static void take(struct co_verbs *verbs, const struct ibv_wc *done)
{
    struct co_verbs_reads *all = &verbs->reads;
    if (done->wr_id & CO_VERBS_RC_DATAGRAM) {
        co_verbs_rc_datagram_take(verbs, done);
        return;
    }
    unsigned slot = (unsigned)(done->wr_id % CO_VERBS_READS);
    struct co_verbs_read *read = &all->slots[slot];
    if (read->number != done->wr_id / CO_VERBS_READS) {
        return; // of a connection that was given up
    }
    if (done->status == IBV_WC_SUCCESS) {
        read->has_ended = true;
        all->ended[all->ended_count++] = (uint16_t)slot;
    } else {
        verbs->config.count(CO_VERBS_FAILED, 1);
        co_verbs_rc_fail(verbs, read->rc, ibv_wc_status_str(done->status));
    }
}

bool co_verbs_reads_reap(struct co_verbs *verbs)
{
    struct co_verbs_reads *all = &verbs->reads;
    struct ibv_wc done[CO_VERBS_BATCH];
    int count = co_verbs_rc_is_used(all) ? CO_VERBS_BATCH : 0;
    while (count == CO_VERBS_BATCH) {
        count = ibv_poll_cq(all->done, CO_VERBS_BATCH, done);
        for (int i = 0; i < count; i++) {
            take(verbs, &done[i]);
        }
    }
    if (count < 0) {
        co_verbs_break(verbs, -EIO, "its completions cannot be polled");
    }
    return all->ended_count > 0 || all->heard_count > 0;
}

unsigned co_verbs_reads_deliver(struct co_verbs *verbs, co_deliver_fn deliver, void *arg)
{
    struct co_verbs_reads *all = &verbs->reads;
    unsigned delivered = 0;
    co_verbs_reads_reap(verbs);
    while (delivered < all->ended_count) {
        struct co_arrival arrivals[CO_VERBS_BATCH];
        unsigned count = 0;
        size_t bytes = 0;
        for (; count < CO_VERBS_BATCH && delivered + count < all->ended_count; count++) {
            unsigned slot = all->ended[delivered + count];
            arrivals[count] = (struct co_arrival){.data = slot_at(all, slot), .bytes = all->slots[slot].bytes};
            bytes += all->slots[slot].read_bytes;
        }
        deliver(arg, arrivals, count);
        for (unsigned i = 0; i < count; i++) {
            co_verbs_read_free(all, all->ended[delivered + i]);
        }
        verbs->config.count(CO_VERBS_READS_DONE, count);
        verbs->config.count(CO_VERBS_READ_BYTES, bytes);
        delivered += count;
    }
    all->ended_count = 0;
    return delivered;
}

const struct co_reads_ops co_verbs_reads_ops = {
    .is_connected = is_connected, .lend = lend, .take_back = take_back, .read = start, .is_under_way = is_under_way};
