// SPDX-License-Identifier: BSD-3-Clause
//
// Sending: each datagram is copied into a slot, but for payload that stands in a region; a batch is one chain of work
// requests, and only its last one tells that all of them have left. Hot, without allocation but for the first datagram
// to a peer.
#include <errno.h>
#include <string.h>

#include "transport/verbs/verbs_state.h"

#define TRY_EVERY 64 // datagrams to a peer to whom there was no way: finding that out may take a second

// Puts it into the slot, but for payload that stands apart, and says where its pieces are. Returns how many: one, or
// three.
static int gather(const struct co_verbs *verbs, struct ibv_sge *pieces, uint8_t *slot,
                  const struct co_tx_datagram *datagram, uint64_t last)
{
    uint32_t key = verbs->region->lkey;
    int count = 0;
    if (datagram->region == NULL || datagram->payload_bytes == 0) {
        uint32_t bytes = co_tx_datagram_copy(slot, datagram);
        pieces[0] = (struct ibv_sge){.addr = (uintptr_t)slot, .length = bytes, .lkey = key};
        return 1;
    }
    if (datagram->head_bytes > 0) {
        memcpy(slot, datagram->head, datagram->head_bytes);
        pieces[count++] = (struct ibv_sge){.addr = (uintptr_t)slot, .length = datagram->head_bytes, .lkey = key};
    }
    pieces[count++] = (struct ibv_sge){.addr = (uintptr_t)datagram->payload,
                                       .length = datagram->payload_bytes,
                                       .lkey = co_verbs_region_use(datagram->region, last)};
    if (datagram->tail_bytes > 0) {
        memcpy(slot + datagram->head_bytes, datagram->tail, datagram->tail_bytes);
        pieces[count++] = (struct ibv_sge){
            .addr = (uintptr_t)slot + datagram->head_bytes, .length = datagram->tail_bytes, .lkey = key};
    }
    return count;
}

void co_verbs_reap(struct co_verbs *verbs)
{
    struct ibv_wc done[CO_VERBS_BATCH];
    int count;
    do {
        count = ibv_poll_cq(verbs->sent, CO_VERBS_BATCH, done);
        for (int i = 0; i < count; i++) {
            if (done[i].wr_id <= verbs->left_slots) {
                verbs->config.count(CO_VERBS_FLUSHED, 1); // of a former life of the queue pair
            } else if (done[i].status != IBV_WC_SUCCESS) {
                co_verbs_failed(verbs, co_verbs_own_ring(verbs), &done[i], "a send", &verbs->said_of_sends);
            }
            verbs->left_slots = done[i].wr_id > verbs->left_slots ? done[i].wr_id : verbs->left_slots;
        }
    } while (count == CO_VERBS_BATCH);
    if (count < 0) {
        co_verbs_break(verbs, -EIO, "its completions cannot be polled");
    }
}

struct target {
    struct ibv_ah *to;
    uint32_t queue_pair, key;
};

static int find_peer(struct co_verbs *verbs, unsigned rank, struct target *target)
{
    if (rank >= (unsigned)verbs->peer_count) {
        return -EINVAL;
    }
    struct co_verbs_peer *peer = &verbs->peers[rank];
    if (peer->to == NULL && peer->unreachable++ % TRY_EVERY == 0) {
        struct ibv_ah_attr way = co_verbs_path_to(verbs->port, verbs->gid_index, peer->address.gid, peer->address.lid);
        peer->to = ibv_create_ah(verbs->domain, &way);
    }
    *target = (struct target){peer->to, peer->address.queue_pair, verbs->config.key};
    return peer->to != NULL ? 0 : -EHOSTUNREACH;
}

static int find(struct co_verbs *verbs, struct co_destination to, struct target *target)
{
    if (to.kind == CO_TO_PEER) {
        return find_peer(verbs, to.index, target);
    }
    if (to.index >= verbs->group_count) {
        return -EINVAL;
    }
    const struct co_verbs_group *group = &verbs->groups[to.index];
    *target = (struct target){group->to, group->queue_pair, group->key};
    return 0;
}

// As many as there are slots for. 0 ... count, or -errno.
static int post(struct co_verbs *verbs, const struct target *target, const struct co_tx_datagram *batch, unsigned count)
{
    struct ibv_send_wr requests[CO_VERBS_BATCH], *bad = NULL;
    struct ibv_sge pieces[CO_VERBS_BATCH][CO_VERBS_PIECES];
    size_t bytes = 0, uncopied = 0;
    uint64_t room = CO_VERBS_SEND_SLOTS - (verbs->sent_slots - verbs->left_slots);
    count = count < room ? count : (unsigned)room;
    for (unsigned i = 0; i < count; i++) {
        uint8_t *slot = verbs->send_slots + (verbs->sent_slots + i) % CO_VERBS_SEND_SLOTS * verbs->slot_bytes;
        bytes += co_tx_datagram_bytes(&batch[i]);
        uncopied += batch[i].region != NULL ? batch[i].payload_bytes : 0;
        int count_of_pieces = gather(verbs, pieces[i], slot, &batch[i], verbs->sent_slots + count);
        requests[i] = (struct ibv_send_wr){.wr_id = verbs->sent_slots + count,
                                           .next = i + 1 < count ? &requests[i + 1] : NULL,
                                           .sg_list = pieces[i],
                                           .num_sge = count_of_pieces,
                                           .opcode = IBV_WR_SEND_WITH_IMM,
                                           .send_flags = i + 1 < count ? 0 : IBV_SEND_SIGNALED,
                                           .imm_data = batch[i].immediate,
                                           .wr.ud = {target->to, target->queue_pair, target->key}};
    }
    if (count == 0) {
        return 0;
    }
    if (ibv_post_send(co_verbs_own_ring(verbs)->queue_pair, requests, &bad) != 0) {
        co_verbs_ring_fail(verbs, co_verbs_own_ring(verbs)); // as good as lost, like what was posted before
    }
    verbs->sent_slots += count;
    verbs->config.count(CO_VERBS_SENT, count);
    verbs->config.count(CO_VERBS_SENT_BYTES, bytes);
    if (uncopied > 0) {
        verbs->config.count(CO_VERBS_UNCOPIED_BYTES, uncopied);
    }
    return (int)count;
}

int co_verbs_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                  unsigned count)
{
    struct co_verbs *verbs = (struct co_verbs *)transport;
    struct target target;
    unsigned done = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct co_tx_datagram *datagram = &batch[i];
        if (co_tx_datagram_bytes(datagram) > transport->max_datagram_bytes) {
            return -EMSGSIZE;
        }
        if (datagram->region != NULL &&
            !co_verbs_region_holds(datagram->region, datagram->payload, datagram->payload_bytes)) {
            return -EFAULT;
        }
    }
    int error = verbs->broken != 0 ? verbs->broken : find(verbs, to, &target);
    bool is_failed = verbs->down_since_ns != 0 || co_verbs_own_ring(verbs)->state != CO_VERBS_RING_RUNS;
    if (error == -EHOSTUNREACH || (error == 0 && is_failed)) { // no way there now: as good as lost
        verbs->config.count(CO_VERBS_REFUSED, 1);
        return (int)count;
    }
    if (error == 0) {
        co_verbs_reap(verbs);
    }
    if (error == 0 && count == 1 && batch->by_connection && to.kind == CO_TO_PEER &&
        co_verbs_rc_datagram_send(verbs, (int)to.index, batch)) {
        return 1;
    }
    while (error == 0 && done < count) {
        int posted = post(verbs, &target, batch + done, count - done < CO_VERBS_BATCH ? count - done : CO_VERBS_BATCH);
        if (posted <= 0) {
            error = posted;
            break;
        }
        done += (unsigned)posted;
    }
    return done > 0 ? (int)done : error;
}
