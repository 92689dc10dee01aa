// SPDX-License-Identifier: BSD-3-Clause
//
// A send from its call to its first packet, which leaves as eager_or_rendezvous.c says or waits for room; a message to
// this very rank; and the short path of a small one. Hot; lock held but in the calls.
#include <errno.h>

#include "p2p/eager_or_rendezvous.h"
#include "p2p/finish.h"
#include "p2p/message.h"
#include "p2p/peer_channel.h"
#include "p2p/receive.h"
#include "p2p/stream_send.h"

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
    send->streamed = 0;
    send->is_rts = send->is_in_pieces = false;
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
