// SPDX-License-Identifier: BSD-3-Clause
//
// How a message leaves: eager up to a size, by an RTS above and where credit or, for all but small ones, room has run
// out. A flood is bounded at its sender: credit counts what may wait at a receiver. An RTS needs none, because the
// receiver may want that very message first: it takes no more memory there than its send takes here. A small message is
// offered from a copy (buffered_copy.c), as long as there is room for copies; then a blocking sender has one RTS. Hot;
// lock held.
#include "p2p/eager_or_rendezvous.h"

#include "p2p/buffered_copy.h"
#include "p2p/finish.h"
#include "p2p/peer_channel.h"
#include "p2p/stream_send.h"

static struct co_packet send_head(const struct co_p2p_send *send, enum co_packet_kind kind, size_t bytes)
{
    return (struct co_packet){.context = send->context->id,
                              .source = send->context->rank,
                              .tag = send->tag,
                              .bytes = (uint32_t)bytes,
                              .kind = kind};
}

// By which its receiver answers. False: out of memory.
static bool send_name(struct co_p2p_send *send)
{
    if (send->handle == 0) {
        send->handle = co_handles_add(&send->context->p2p->sends_named, send);
    }
    return send->handle != 0;
}

static bool send_eager(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    struct co_packet_handle handle = {0};
    size_t head = 0;
    if (send->is_synchronous) {
        if (!send_name(send)) {
            return false;
        }
        handle.operation = send->handle;
        head = sizeof(handle);
    }
    struct co_packet packet =
        send_head(send, send->is_synchronous ? CO_PACKET_EAGER_SYNC : CO_PACKET_EAGER, head + send->bytes);
    if (!co_p2p_transmit(p2p, peer, &packet, &handle, head, send->data, send->bytes)) {
        return false;
    }
    co_p2p_charge(p2p, peer, send->bytes);
    return true;
}

static bool send_rts(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    if (!send_name(send)) {
        return false;
    }
    bool is_in_pieces = co_p2p_send_streams(p2p, peer, send);
    size_t first_fragment = is_in_pieces ? co_p2p_fragment_of(p2p, peer, send) : 0;
    uint64_t address = send->make != NULL ? 0 : (uint64_t)(uintptr_t)send->data; // not to be read before it is made
    struct co_packet_rts rts = {send->handle, send->bytes, address, (uint32_t)first_fragment, is_in_pieces};
    struct co_packet packet = send_head(send, CO_PACKET_RTS, sizeof(rts));
    if (!co_p2p_transmit(p2p, peer, &packet, &rts, sizeof(rts), NULL, 0)) {
        return false; // and nothing was to follow
    }
    if (first_fragment > 0) {
        co_p2p_push_fragment(p2p, peer, send, first_fragment);
        co_p2p_charge(p2p, peer, first_fragment);
    }
    send->is_in_pieces = is_in_pieces;
    send->is_rts = !p2p->peers[peer].is_remote && send->bytes > CO_MESSAGE_SMALL;
    p2p->rts_pending += send->is_rts;
    return true;
}

// A small message whose copy is offered is done.
static bool send_push_rts(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    bool may_be_buffered = !send->is_synchronous && send->bytes <= CO_MESSAGE_SMALL;
    if (may_be_buffered && send->copy == NULL) {
        send->copy = co_p2p_buffered_copy(p2p, send);
    }
    bool is_buffered = send->copy != NULL;
    if (!send_rts(p2p, peer, is_buffered ? send->copy : send)) {
        return false;
    }
    if (is_buffered) {
        send->copy = NULL;
        co_p2p_send_finish(send, 0);
    }
    return true;
}

// Where its bytes are, if they found no room: so large a one is read as fast as it is copied twice, unless ranks take
// turns on the cores.
static bool send_may_be_read(const struct co_p2p *p2p, int peer, const struct co_p2p_send *send)
{
    return p2p->config.read != NULL && !p2p->config.is_crowded && !p2p->peers[peer].is_remote &&
           send->bytes > CO_MESSAGE_SMALL && send->make == NULL;
}

bool co_p2p_push_message(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    if (send->bytes > p2p->peers[peer].eager_most) {
        return send_push_rts(p2p, peer, send);
    }
    if (!co_p2p_has_credit(p2p, peer, send->bytes)) {
        p2p->totals.credit_stalls += !p2p->peers[peer].lacks_credit;
        p2p->peers[peer].lacks_credit = true;
        return send_push_rts(p2p, peer, send);
    }
    if (!send_eager(p2p, peer, send)) {
        return send_may_be_read(p2p, peer, send) && send_push_rts(p2p, peer, send);
    }
    if (!send->is_synchronous) {
        co_p2p_send_finish(send, 0);
    }
    return true;
}
