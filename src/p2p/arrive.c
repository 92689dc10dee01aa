// SPDX-License-Identifier: BSD-3-Clause
//
// Packets from peers. A message goes from the packet straight into the receive that waits for it; only without one is
// it copied and kept. Peers are ranks of the same job, yet what they say is checked before it is used as a place or a
// length. Hot; lock held.
#include "p2p/arrive.h"

#include <string.h>

#include "base/log.h"
#include "p2p/message_batch.h"
#include "p2p/context.h"
#include "p2p/finish.h"
#include "p2p/message.h"
#include "p2p/peer_channel.h"
#include "p2p/receive.h"
#include "p2p/stream_receive.h"
#include "p2p/stream_send.h"
#include "p2p/stream_trials.h"

// What the packet says of its message, and where the bytes begin. False: it contradicts itself.
static bool message_read(const struct co_p2p *p2p, struct co_p2p_message *message, const struct co_packet *packet,
                         const unsigned char **payload)
{
    struct co_packet_handle handle;
    struct co_packet_rts rts;
    message->bytes = packet->bytes;
    message->kind = packet->kind == CO_PACKET_RTS ? CO_MESSAGE_RTS : CO_MESSAGE_EAGER;
    message->first_fragment = message->arrived = 0;
    message->stored_ns = 0;
    message->is_in_pieces = message->has_waited = false;
    message->wants_ack = packet->kind == CO_PACKET_EAGER_SYNC;
    message->node.source = packet->source;
    message->node.tag = packet->tag;
    if (packet->kind == CO_PACKET_RTS) {
        if (packet->bytes != sizeof(rts)) {
            return false;
        }
        memcpy(&rts, *payload, sizeof(rts));
        message->operation = rts.operation;
        message->address = rts.address;
        message->bytes = rts.bytes;
        message->first_fragment = rts.first_fragment;
        message->is_in_pieces = rts.is_in_pieces != 0;
        return rts.first_fragment <= rts.bytes && rts.first_fragment <= p2p->first_fragment_most &&
               (message->is_in_pieces ? !p2p->peers[message->peer].is_remote : rts.first_fragment == 0);
    } else if (packet->kind == CO_PACKET_EAGER_SYNC) {
        if (packet->bytes < sizeof(handle)) {
            return false;
        }
        memcpy(&handle, *payload, sizeof(handle));
        message->operation = handle.operation;
        message->bytes -= sizeof(handle);
        *payload += sizeof(handle);
    }
    return true;
}

// There is no context for it. True: the message is left out.
static bool message_drop(struct co_p2p *p2p, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct co_p2p_message message = {.peer = peer};
    if (!co_p2p_context_leaves_out(p2p, peer, packet->context, packet->source)) {
        return false;
    }
    if (message_read(p2p, &message, packet, &payload)) {
        co_p2p_fragment_begin(p2p, peer, &message); // nobody's
        co_p2p_message_give_back(p2p, &message);
    }
    return true;
}

// What it brings, until there is a receive. There is memory, see above.
static void message_store(struct co_p2p *p2p, struct co_p2p_message *message, const unsigned char *payload)
{
    if (message->kind == CO_MESSAGE_EAGER) {
        co_p2p_message_store(p2p, message, payload);
    } else if (message->first_fragment > 0) {
        co_p2p_fragment_store(p2p, message);
    }
}

static bool message_on_packet(struct co_p2p *p2p, int peer, const struct co_packet *packet,
                              const unsigned char *payload)
{
    struct co_p2p_context *context = co_p2p_context_of(p2p, peer, packet);
    if (context == NULL) {
        return message_drop(p2p, peer, packet, payload);
    }
    if (!co_p2p_message_has_memory(p2p)) {
        return false;
    }
    struct co_p2p_message *message = co_p2p_message_take(p2p);
    message->context = context;
    message->peer = peer;
    if (!message_read(p2p, message, packet, &payload)) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_P2P, "peer %d sent a message that contradicts itself: it is left out", peer);
        co_p2p_message_give(p2p, message);
        return true;
    }
    co_p2p_fragment_begin(p2p, peer, message);
    if (p2p->batch != NULL) {
        message_store(p2p, message, payload);
        co_p2p_batch_add(p2p, message);
        return true;
    }
    if (co_p2p_arrive(message, co_matcher_arrive(context->matcher, &message->node, NULL), payload)) {
        return true;
    }
    message_store(p2p, message, payload);
    return true;
}

// Most messages: eager, and their receive waits. The bytes go there, and nothing is made for the message.
static bool eager_on_packet(struct co_p2p *p2p, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct co_p2p_context *context = p2p->last_context;
    if (!co_p2p_context_is_of(context, peer, packet)) { // else no lanes match
        context = p2p->batch != NULL ? NULL : co_p2p_context_find(p2p, peer, packet);
    }
    struct co_p2p_receive *receive =
        context == NULL ? NULL
                        : (struct co_p2p_receive *)co_matcher_claim(context->matcher, packet->source, packet->tag);
    if (receive == NULL) {
        return message_on_packet(p2p, peer, packet, payload);
    }
    co_p2p_give_back(p2p, peer, packet->bytes);
    co_p2p_note(receive, packet->source, packet->tag, packet->bytes);
    co_p2p_copy(receive, payload, packet->bytes);
    co_p2p_receive_finish(receive, 0);
    return true;
}

static void send_on_cts(struct co_p2p_send *send, const struct co_packet_cts *cts)
{
    struct co_p2p *p2p = send->context->p2p;
    int peer = send->context->peers[send->destination];
    send->receive = cts->receive;
    send->number = (uint32_t)cts->number;
    send->streamed = 0;
    send->wanted = cts->bytes < send->bytes ? cts->bytes : send->bytes;
    co_p2p_enqueue(p2p, peer, &p2p->peers[peer].urgent, &send->queued);
}

// Only who is sent to answers: a number of ours that another one tells is a fault of his, and the bytes may be under
// way. So is a CTS of no receive, which would count as none yet: the next one would find the send in its queue.
static void send_on_answer(struct co_p2p *p2p, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct co_packet_cts cts = {0};
    bool is_cts = packet->kind == CO_PACKET_CTS;
    if (packet->bytes != (is_cts ? sizeof(cts) : sizeof(struct co_packet_handle))) {
        return;
    }
    memcpy(&cts, payload, packet->bytes); // both begin with the operation
    if (is_cts && cts.receive == 0) {
        return;
    }
    struct co_p2p_send *send = co_handles_find(&p2p->sends_named, cts.operation);
    if (send == NULL || send->context->peers[send->destination] != peer) {
        return;
    }
    co_p2p_trials_hear(p2p, peer, send->bytes, packet->tag);
    if (send->is_in_pieces) {
        is_cts ? co_p2p_stream_cts(send, &cts) : co_p2p_stream_fin(send);
    } else if (send->receive == 0) {
        is_cts ? send_on_cts(send, &cts) : co_p2p_send_finish(send, 0);
    }
}

bool co_p2p_on_packet(void *arg, int place, const struct co_packet *packet, const unsigned char *payload)
{
    const struct co_p2p_route *route = arg;
    struct co_p2p *p2p = route->p2p;
    int peer = route->peers == NULL ? place : route->peers[place];
    switch (packet->kind) {
    case CO_PACKET_BROKEN:
        p2p->peers[peer].is_broken = p2p->has_broken_one = true;
        return true;
    case CO_PACKET_EAGER:
        return eager_on_packet(p2p, peer, packet, payload);
    case CO_PACKET_EAGER_SYNC:
    case CO_PACKET_RTS:
        return message_on_packet(p2p, peer, packet, payload);
    case CO_PACKET_FIRST:
        return co_p2p_on_fragment(p2p, peer, payload, packet->bytes);
    case CO_PACKET_DATA:
        co_p2p_on_data(p2p, peer, packet->context, payload, packet->bytes);
        return true;
    case CO_PACKET_ACK:
    case CO_PACKET_CTS:
    case CO_PACKET_FIN:
        send_on_answer(p2p, peer, packet, payload);
        return true;
    case CO_PACKET_READING: // that it came is all
    case CO_PACKET_CREDIT:  // the channel's own
        return true;
    }
    return true;
}
