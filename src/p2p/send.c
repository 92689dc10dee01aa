// SPDX-License-Identifier: BSD-3-Clause
//
// Sends: eager up to a size, an RTS above and where credit has run out. A flood is bounded at its sender:
// credit counts what may wait at a receiver. An RTS needs none, because the receiver may want that very message
// first: it takes no more memory there than its send takes here. A small message is offered from a copy
// (buffered_copy.c), as long as there is room for copies; then a blocking sender has one RTS. Hot; lock held but in
// co_p2p_send.
#include "p2p/send.h"

#include <errno.h>

#include "p2p/finish.h"
#include "p2p/buffered_copy.h"
#include "p2p/message.h"
#include "p2p/peer_channel.h"
#include "p2p/receive.h"
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
    size_t first_fragment = co_p2p_fragment_of(p2p, peer, send);
    uint64_t address = send->make != NULL ? 0 : (uint64_t)(uintptr_t)send->data; // not to be read before it is made
    struct co_packet_rts rts = {send->handle, send->bytes, address, first_fragment};
    struct co_packet packet = send_head(send, CO_PACKET_RTS, sizeof(rts));
    if (!co_p2p_transmit(p2p, peer, &packet, &rts, sizeof(rts), NULL, 0)) {
        return false;
    }
    if (first_fragment > 0) {
        send->first_fragment = first_fragment;
        co_p2p_charge(p2p, peer, first_fragment);
    }
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
        return true;
    }
    return send->first_fragment == 0 || co_p2p_push_fragment(p2p, peer, send);
}

bool co_p2p_push_message(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    if (send->first_fragment > 0) { // it has been offered
        return co_p2p_push_fragment(p2p, peer, send);
    }
    if (send->bytes > p2p->peers[peer].eager_most) {
        return send_push_rts(p2p, peer, send);
    }
    if (!co_p2p_has_credit(p2p, peer, send->bytes)) {
        p2p->totals.credit_stalls += !p2p->peers[peer].lacks_credit;
        p2p->peers[peer].lacks_credit = true;
        return send_push_rts(p2p, peer, send);
    }
    if (!send_eager(p2p, peer, send)) {
        return false;
    }
    if (!send->is_synchronous) {
        co_p2p_send_finish(send, 0);
    }
    return true;
}

// A message to this very rank: into the receive that waits for it, else kept; a large one stays where it is.
static void send_to_self(struct co_p2p *p2p, struct co_p2p_send *send)
{
    struct co_p2p_message *message = co_p2p_message_take(p2p);
    if (message == NULL) {
        co_p2p_send_finish(send, -ENOMEM);
        return;
    }
    bool stays = send->is_synchronous || (send->bytes > p2p->config.eager_most && send->bytes > CO_MESSAGE_SMALL);
    message->context = send->context;
    message->node.source = send->context->rank;
    message->node.tag = send->tag;
    message->bytes = send->bytes;
    message->peer = p2p->config.self;
    message->wants_ack = false;
    message->kind = CO_MESSAGE_FROM_SELF;
    message->send = send;
    struct co_match_node *receive = co_matcher_arrive(send->context->matcher, &message->node, NULL);
    if (!co_p2p_arrive(message, receive, NULL) && !stays && co_p2p_message_store(p2p, message, send->data)) {
        message->kind = CO_MESSAGE_EAGER;
        co_p2p_send_finish(send, 0);
    }
}

static void send_count(struct co_p2p *p2p, int peer, size_t bytes)
{
    p2p->totals.sent++;
    p2p->totals.sent_bytes += bytes;
    if (p2p->peers[peer].is_remote) {
        p2p->totals.remote++;
        p2p->totals.remote_bytes += bytes;
    }
}

static bool send_leaves_at_once(struct co_p2p_context *context, int peer, int32_t tag, const void *data, size_t bytes)
{
    struct co_p2p *p2p = context->p2p;
    const struct co_p2p_peer *state = &p2p->peers[peer];
    struct co_packet packet = {context->id, context->rank, tag, (uint32_t)bytes, CO_PACKET_EAGER};
    if (peer == p2p->config.self || state->messages.first != NULL || state->is_gone ||
        !co_p2p_has_credit(p2p, peer, bytes) || !co_p2p_transmit(p2p, peer, &packet, data, bytes, NULL, 0)) {
        return false;
    }
    co_p2p_charge(p2p, peer, bytes);
    send_count(p2p, peer, bytes);
    return true;
}

bool co_p2p_send_now(struct co_p2p_context *context, int32_t destination, int32_t tag, const void *data, size_t bytes)
{
    struct co_p2p *p2p = context->p2p;
    int peer = context->peers[destination];
    if (bytes > p2p->peers[peer].eager_most) {
        return false;
    }
    co_p2p_lock(p2p);
    bool has_left = send_leaves_at_once(context, peer, tag, data, bytes);
    co_p2p_unlock(p2p);
    return has_left;
}

static void send_begin(struct co_p2p *p2p, int peer, struct co_p2p_send *send)
{
    send->context->users++;
    send->copy = NULL;
    send->first_fragment = send->streamed = 0;
    send->is_rts = false;
    send->in_background = co_p2p_background_begin(p2p, send->in_background);
    if (peer == p2p->config.self) {
        send_to_self(p2p, send);
    } else if (p2p->peers[peer].is_gone) {
        co_p2p_send_finish(send, -ECONNRESET);
    } else if (p2p->peers[peer].messages.first != NULL || !co_p2p_push_message(p2p, peer, send)) {
        co_p2p_enqueue(p2p, peer, &p2p->peers[peer].messages, &send->queued);
    }
}

void co_p2p_send(struct co_p2p_send *send)
{
    struct co_p2p_context *context = send->context;
    struct co_p2p *p2p = context->p2p;
    int peer = context->peers[send->destination];
    send->queued.is_answer = false;
    send->handle = send->receive = 0;
    send->made = 0;
    co_store_relaxed(&send->is_done, 0);                                        // relaxed: nobody else knows it
    if (send->make != NULL && !co_p2p_goes_in_pieces(p2p, peer, send->bytes)) { // as a whole, while nobody waits
        co_p2p_make(send, send->bytes);
        send->make = NULL;
    }
    co_p2p_lock(p2p);
    send_count(p2p, peer, send->bytes);
    send_begin(p2p, peer, send);
    co_p2p_unlock_started(p2p);
}

bool co_p2p_send_detach(struct co_p2p_send *send, void (*on_done)(struct co_p2p_send *send))
{
    struct co_p2p *p2p = send->context->p2p;
    co_p2p_lock(p2p);
    bool is_under_way = !co_p2p_send_is_done(send);
    if (is_under_way) {
        send->on_done = on_done;
    }
    co_p2p_unlock(p2p);
    return is_under_way;
}
