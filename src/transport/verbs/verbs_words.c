// SPDX-License-Identifier: BSD-3-Clause
//
// Words: small datagrams to the two neighbours of the ring of nodes over their reliable connections, where the device
// repeats what is lost. A receive waits for each word that may be under way, so no sender is ever told to wait: the
// immediate of a word says how many have been taken the other way, and an empty word says so where there is no other
// to say. Who has no room for a word sends a datagram. Warm: one or two for each operation.
#include <arpa/inet.h>

#include "base/clock.h"
#include "transport/verbs/verbs_state.h"

#define LATE_NS (UINT64_C(100) * CO_NS_PER_MS) // without an answer of the device beyond: datagrams may be faster

enum { IS_RECEIVED = 1 << 9, LINK_AT = 8, SLOT_MASK = CO_VERBS_WORDS - 1 };
_Static_assert((CO_VERBS_WORDS & SLOT_MASK) == 0 && CO_VERBS_WORDS <= 1 << LINK_AT, "numbers of slots");

static unsigned number_of(const struct co_verbs *verbs, const struct co_verbs_link *link)
{
    return (unsigned)(link - verbs->reads.links);
}

static uint8_t *sent_slot(struct co_verbs_link *link, unsigned slot)
{
    return link->words.memory + slot * CO_VERBS_WORD_BYTES;
}

static uint8_t *received_slot(struct co_verbs_link *link, unsigned slot)
{
    return link->words.memory + (CO_VERBS_WORDS + slot) * CO_VERBS_WORD_BYTES;
}

static int receive_into(struct co_verbs *verbs, struct co_verbs_link *link, unsigned slot)
{
    struct ibv_sge place = {
        .addr = (uintptr_t)received_slot(link, slot), .length = CO_VERBS_WORD_BYTES, .lkey = verbs->reads.region->lkey};
    struct ibv_recv_wr request = {.wr_id = CO_VERBS_WORD | IS_RECEIVED | number_of(verbs, link) << LINK_AT | slot,
                                  .sg_list = &place,
                                  .num_sge = 1},
                       *bad;
    return ibv_post_recv(link->queue_pair, &request, &bad);
}

int co_verbs_words_open(struct co_verbs *verbs, struct co_verbs_link *link, uint8_t *memory)
{
    int error = 0;
    link->words = (struct co_verbs_words){.memory = memory};
    for (unsigned slot = 0; error == 0 && slot < CO_VERBS_WORDS; slot++) {
        error = receive_into(verbs, link, slot);
    }
    return -error;
}

// Each word says how many have been taken the other way.
static bool post(struct co_verbs *verbs, struct co_verbs_link *link, uint32_t bytes, uint64_t now_ns)
{
    struct co_verbs_words *words = &link->words;
    unsigned slot = words->sent & SLOT_MASK;
    struct ibv_sge piece = {
        .addr = (uintptr_t)sent_slot(link, slot), .length = bytes, .lkey = verbs->reads.region->lkey};
    struct ibv_send_wr request = {.wr_id = CO_VERBS_WORD | number_of(verbs, link) << LINK_AT | slot,
                                  .sg_list = &piece,
                                  .num_sge = bytes > 0,
                                  .opcode = IBV_WR_SEND_WITH_IMM,
                                  .send_flags = IBV_SEND_SIGNALED,
                                  .imm_data = htonl(words->taken)},
                       *bad;
    if (ibv_post_send(link->queue_pair, &request, &bad) != 0) {
        return false;
    }
    words->sent_ns[slot] = now_ns;
    words->sent++;
    words->told = words->taken;
    return true;
}

// `more` words beside this one may be under way to receives that are not taken for any other.
static bool has_room(const struct co_verbs_words *words, unsigned more)
{
    return words->sent - words->left < CO_VERBS_WORDS && words->sent - words->peer_took + more < CO_VERBS_WORDS;
}

static bool is_late(const struct co_verbs_words *words, uint64_t now_ns)
{
    return words->left != words->sent && now_ns - words->sent_ns[words->left & SLOT_MASK] > LATE_NS;
}

bool co_verbs_word_send(struct co_verbs *verbs, int peer, const struct co_tx_datagram *datagram)
{
    struct co_verbs_link *link = co_verbs_link_to(&verbs->reads, peer);
    size_t bytes = co_tx_datagram_bytes(datagram);
    if (link == NULL || bytes > CO_VERBS_WORD_BYTES || datagram->region != NULL) {
        return false;
    }
    uint64_t now_ns = co_clock_now_ns();
    if (!has_room(&link->words, 1) || is_late(&link->words, now_ns)) { // one is left for an empty one
        return false;
    }
    co_tx_datagram_copy(sent_slot(link, link->words.sent & SLOT_MASK), datagram);
    if (!post(verbs, link, (uint32_t)bytes, now_ns)) {
        return false;
    }
    verbs->config.count(CO_VERBS_WORDS_SENT, 1);
    verbs->config.count(CO_VERBS_SENT, 1);
    verbs->config.count(CO_VERBS_SENT_BYTES, bytes);
    return true;
}

// The slot may be received into again, of which the other side is told in time.
static void give_back(struct co_verbs *verbs, struct co_verbs_link *link, unsigned slot)
{
    struct co_verbs_words *words = &link->words;
    if (!link->is_up) {
        return;
    }
    if (receive_into(verbs, link, slot) != 0) {
        co_verbs_link_fail(verbs, link, "its receives cannot be posted");
        return;
    }
    words->taken++;
    if (words->taken - words->told >= CO_VERBS_WORDS / 2 && has_room(words, 0)) {
        post(verbs, link, 0, co_clock_now_ns());
    }
}

void co_verbs_word_take(struct co_verbs *verbs, const struct ibv_wc *done)
{
    struct co_verbs_reads *all = &verbs->reads;
    struct co_verbs_link *link = &all->links[done->wr_id >> LINK_AT & 1];
    unsigned slot = done->wr_id & SLOT_MASK;
    if (!link->is_up) {
        return; // it was given up
    }
    if (done->status != IBV_WC_SUCCESS) {
        verbs->config.count(CO_VERBS_FAILED, 1);
        co_verbs_link_fail(verbs, link, ibv_wc_status_str(done->status));
        return;
    }
    if ((done->wr_id & IS_RECEIVED) == 0) {
        link->words.left++; // they leave in order
        return;
    }
    link->words.peer_took = ntohl(done->imm_data);
    if (done->byte_len == 0) {
        give_back(verbs, link, slot);
    } else {
        all->heard[all->heard_count++] = (struct co_verbs_heard){link, slot, done->byte_len};
    }
}

unsigned co_verbs_words_deliver(struct co_verbs *verbs, co_deliver_fn deliver, void *arg)
{
    struct co_verbs_reads *all = &verbs->reads;
    unsigned count = all->heard_count; // no more come meanwhile: who sends takes nothing
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        struct co_verbs_heard *heard = &all->heard[i];
        struct co_arrival arrival = {.data = received_slot(heard->link, heard->slot), .bytes = heard->bytes};
        bytes += heard->bytes;
        deliver(arg, &arrival, 1);
        give_back(verbs, heard->link, heard->slot);
    }
    all->heard_count = 0;
    if (count > 0) {
        verbs->config.count(CO_VERBS_RECEIVED, count);
        verbs->config.count(CO_VERBS_RECEIVED_BYTES, bytes);
    }
    return count;
}
