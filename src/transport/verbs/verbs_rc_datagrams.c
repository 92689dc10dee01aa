// SPDX-License-Identifier: BSD-3-Clause
//
// Small datagrams to the two neighbours of the ring of nodes by their reliable connections, where the device repeats
// what is lost. A receive waits for each one that may be under way, so no sender is ever told to wait: the immediate
// says how many have been taken the other way, and an empty one says so where there is no other to say. Who has no room
// for one sends it as any other. Warm: one or two for each operation.
#include <arpa/inet.h>

#include "base/clock.h"
#include "transport/verbs/verbs_state.h"

#define LATE_NS (UINT64_C(100) * CO_NS_PER_MS) // without an answer of the device beyond: datagrams may be faster

enum { IS_RECEIVED = 1 << 9, NEIGHBOUR_AT = 8, SLOT_MASK = CO_VERBS_RC_DATAGRAMS - 1 };
_Static_assert((CO_VERBS_RC_DATAGRAMS & SLOT_MASK) == 0 && CO_VERBS_RC_DATAGRAMS <= 1 << NEIGHBOUR_AT,
               "numbers of slots");

static unsigned number_of(const struct co_verbs *verbs, const struct co_verbs_rc *rc)
{
    return (unsigned)(rc - verbs->reads.rc);
}

static uint8_t *sent_slot(struct co_verbs_rc *rc, unsigned slot)
{
    return rc->datagrams.memory + slot * CO_VERBS_RC_DATAGRAM_BYTES;
}

static uint8_t *received_slot(struct co_verbs_rc *rc, unsigned slot)
{
    return rc->datagrams.memory + (CO_VERBS_RC_DATAGRAMS + slot) * CO_VERBS_RC_DATAGRAM_BYTES;
}

static int receive_into(struct co_verbs *verbs, struct co_verbs_rc *rc, unsigned slot)
{
    struct ibv_sge place = {.addr = (uintptr_t)received_slot(rc, slot),
                            .length = CO_VERBS_RC_DATAGRAM_BYTES,
                            .lkey = verbs->reads.region->lkey};
    struct ibv_recv_wr request = {.wr_id =
                                      CO_VERBS_RC_DATAGRAM | IS_RECEIVED | number_of(verbs, rc) << NEIGHBOUR_AT | slot,
                                  .sg_list = &place,
                                  .num_sge = 1},
                       *bad;
    return ibv_post_recv(rc->queue_pair, &request, &bad);
}

int co_verbs_rc_datagrams_open(struct co_verbs *verbs, struct co_verbs_rc *rc, uint8_t *memory)
{
    int error = 0;
    rc->datagrams = (struct co_verbs_rc_datagrams){.memory = memory};
    for (unsigned slot = 0; error == 0 && slot < CO_VERBS_RC_DATAGRAMS; slot++) {
        error = receive_into(verbs, rc, slot);
    }
    return -error;
}

// Each one says how many have been taken the other way.
static bool post(struct co_verbs *verbs, struct co_verbs_rc *rc, uint32_t bytes, uint64_t now_ns)
{
    struct co_verbs_rc_datagrams *datagrams = &rc->datagrams;
    unsigned slot = datagrams->sent & SLOT_MASK;
    struct ibv_sge piece = {.addr = (uintptr_t)sent_slot(rc, slot), .length = bytes, .lkey = verbs->reads.region->lkey};
    struct ibv_send_wr request = {.wr_id = CO_VERBS_RC_DATAGRAM | number_of(verbs, rc) << NEIGHBOUR_AT | slot,
                                  .sg_list = &piece,
                                  .num_sge = bytes > 0,
                                  .opcode = IBV_WR_SEND_WITH_IMM,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .imm_data = htonl(datagrams->taken)},
                       *bad;
    if (ibv_post_send(rc->queue_pair, &request, &bad) != 0) {
        return false;
    }
    datagrams->sent_ns[slot] = now_ns;
    datagrams->sent++;
    datagrams->told = datagrams->taken;
    return true;
}

// `more` datagrams beside this one may be under way to receives that are not taken for any other.
static bool has_room(const struct co_verbs_rc_datagrams *datagrams, unsigned more)
{
    return datagrams->sent - datagrams->left < CO_VERBS_RC_DATAGRAMS &&
           datagrams->sent - datagrams->peer_took + more < CO_VERBS_RC_DATAGRAMS;
}

static bool is_late(const struct co_verbs_rc_datagrams *datagrams, uint64_t now_ns)
{
    return datagrams->left != datagrams->sent && now_ns - datagrams->sent_ns[datagrams->left & SLOT_MASK] > LATE_NS;
}

bool co_verbs_rc_datagram_send(struct co_verbs *verbs, int peer, const struct co_tx_datagram *datagram)
{
    struct co_verbs_rc *rc = co_verbs_rc_to(&verbs->reads, peer);
    size_t bytes = co_tx_datagram_bytes(datagram);
    if (rc == NULL || bytes > CO_VERBS_RC_DATAGRAM_BYTES || datagram->region != NULL) {
        return false;
    }
    uint64_t now_ns = co_clock_now_ns();
    if (!has_room(&rc->datagrams, 1) || is_late(&rc->datagrams, now_ns)) { // one is left for an empty one
        return false;
    }
    co_tx_datagram_copy(sent_slot(rc, rc->datagrams.sent & SLOT_MASK), datagram);
    if (!post(verbs, rc, (uint32_t)bytes, now_ns)) {
        return false;
    }
    verbs->config.count(CO_VERBS_WORDS_SENT, 1);
    verbs->config.count(CO_VERBS_SENT, 1);
    verbs->config.count(CO_VERBS_SENT_BYTES, bytes);
    return true;
}

// The slot may be received into again, of which the other side is told in time.
static void give_back(struct co_verbs *verbs, struct co_verbs_rc *rc, unsigned slot)
{
    struct co_verbs_rc_datagrams *datagrams = &rc->datagrams;
    if (!rc->is_up) {
        return;
    }
    if (receive_into(verbs, rc, slot) != 0) {
        co_verbs_rc_fail(verbs, rc, "its receives cannot be posted");
        return;
    }
    datagrams->taken++;
    if (datagrams->taken - datagrams->told >= CO_VERBS_RC_DATAGRAMS / 2 && has_room(datagrams, 0)) {
        post(verbs, rc, 0, co_clock_now_ns());
    }
}

void co_verbs_rc_datagram_take(struct co_verbs *verbs, const struct ibv_wc *done)
{
    struct co_verbs_reads *all = &verbs->reads;
    struct co_verbs_rc *rc = &all->rc[done->wr_id >> NEIGHBOUR_AT & 1];
    unsigned slot = done->wr_id & SLOT_MASK;
    if (!rc->is_up) {
        return; // it was given up
    }
    if (done->status != IBV_WC_SUCCESS) {
        verbs->config.count(CO_VERBS_FAILED, 1);
        co_verbs_rc_fail(verbs, rc, ibv_wc_status_str(done->status));
        return;
    }
    if ((done->wr_id & IS_RECEIVED) == 0) {
        rc->datagrams.left++; // they leave in order
        return;
    }
    rc->datagrams.peer_took = ntohl(done->imm_data);
    if (done->byte_len == 0) {
        give_back(verbs, rc, slot);
    } else {
        all->heard[all->heard_count++] = (struct co_verbs_heard){rc, slot, done->byte_len};
    }
}

unsigned co_verbs_rc_datagrams_deliver(struct co_verbs *verbs, co_deliver_fn deliver, void *arg)
{
    struct co_verbs_reads *all = &verbs->reads;
    unsigned count = all->heard_count; // no more come meanwhile: who sends takes nothing
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        struct co_verbs_heard *heard = &all->heard[i];
        struct co_arrival arrival = {.data = received_slot(heard->rc, heard->slot), .bytes = heard->bytes};
        bytes += heard->bytes;
        deliver(arg, &arrival, 1);
        give_back(verbs, heard->rc, heard->slot);
    }
    all->heard_count = 0;
    if (count > 0) {
        verbs->config.count(CO_VERBS_RECEIVED, count);
        verbs->config.count(CO_VERBS_RECEIVED_BYTES, bytes);
    }
    return count;
}
