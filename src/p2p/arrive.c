// SPDX-License-Identifier: BSD-3-Clause
//
// Packets from peers. A message goes from the packet straight into the receive that waits for it; only without one is
// it copied and kept. Peers are ranks of the same job, yet what they say is checked before it is used as a place or a
// length. Hot; lock held.
#include "p2p/arrive.h"

#include <string.h>

#include "base/log.h"
#include "p2p/blocks.h"
#include "p2p/context.h"
#include "p2p/finish.h"
#include "p2p/message.h"
#include "p2p/peer_channel.h"
#include "p2p/receive.h"
#include "p2p/stream_receive.h"
#include "p2p/stream_send.h"

// What the packet says of its message, and where the bytes begin. False: it contradicts itself.
static bool read_message(const struct co_p2p *p2p, struct co_p2p_message *message, const struct co_packet *packet,
                         const unsigned char **payload)
{
    struct co_packet_handle handle;
    struct co_packet_offer offer;
    message->bytes = packet->bytes;
    message->kind = packet->kind == CO_PACKET_RTS ? CO_MESSAGE_OFFER : CO_MESSAGE_EAGER;
    message->early = message->arrived = 0;
    message->wants_ack = packet->kind == CO_PACKET_EAGER_SYNC;
    message->node.source = packet->source;
    message->node.tag = packet->tag;
    if (packet->kind == CO_PACKET_RTS) {
        if (packet->bytes != sizeof(offer)) {
            return false;
        }
        memcpy(&offer, *payload, sizeof(offer));
        message->operation = offer.operation;
        message->address = offer.address;
        message->bytes = offer.bytes;
        message->early = offer.early;
        return offer.early == 0 ||
               (offer.early <= offer.bytes && offer.early <= p2p->early_most && !p2p->peers[message->peer].is_far);
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
static bool drop(struct co_p2p *p2p, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct co_p2p_message message = {.peer = peer};
    if (!co_p2p_context_leaves_out(p2p, peer, packet->context, packet->source)) {
        return false;
    }
    if (read_message(p2p, &message, packet, &payload)) {
        co_p2p_early_begins(p2p, peer, &message); // nobody's
        co_p2p_message_give_back(p2p, &message);
    }
    return true;
}

// What it brings, until there is a receive. There is memory, see above.
static void keep(struct co_p2p *p2p, struct co_p2p_message *message, const unsigned char *payload)
{
    if (message->kind == CO_MESSAGE_EAGER) {
        co_p2p_message_keep(p2p, message, payload);
    } else if (message->early > 0) {
        co_p2p_early_is_kept(p2p, message);
    }
}

static bool on_message(struct co_p2p *p2p, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct co_p2p_context *context = co_p2p_context_of(p2p, peer, packet);
    if (context == NULL) {
        return drop(p2p, peer, packet, payload);
    }
    if (!co_p2p_message_has_memory(p2p)) {
        return false;
    }
    struct co_p2p_message *message = co_p2p_message_take(p2p);
    message->context = context;
    message->peer = peer;
    if (!read_message(p2p, message, packet, &payload)) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_P2P, "peer %d sent a message that contradicts itself: it is left out", peer);
        co_p2p_message_give(p2p, message);
        return true;
    }
    co_p2p_early_begins(p2p, peer, message);
    if (p2p->blocks != NULL) {
        keep(p2p, message, payload);
        co_p2p_block_add(p2p, message);
        return true;
    }
    if (co_p2p_arrive(message, co_matcher_arrive(context->matcher, &message->node, NULL), payload)) {
        return true;
    }
    keep(p2p, message, payload);
    return true;
}

// Most messages: eager, and their receive waits. The bytes go there, and nothing is made for the message.
static bool on_eager(struct co_p2p *p2p, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct co_p2p_context *context = p2p->last_context;
    if (!co_p2p_context_is_of(context, peer, packet)) { // else no lanes match
        context = p2p->blocks != NULL ? NULL : co_p2p_context_find(p2p, peer, packet);
    }
    struct co_p2p_receive *receive =
        context == NULL ? NULL
                        : (struct co_p2p_receive *)co_matcher_claim(context->matcher, packet->source, packet->tag);
    if (receive == NULL) {
        return on_message(p2p, peer, packet, payload);
    }
    co_p2p_give_back(p2p, peer, packet->bytes);
    co_p2p_note(receive, packet->source, packet->tag, packet->bytes);
    co_p2p_copy(receive, payload, packet->bytes);
    co_p2p_receive_finish(receive, 0);
    return true;
}

static void send_stream(struct co_p2p_send *send, const struct co_packet_clear *clear)
{
    struct co_p2p *p2p = send->context->p2p;
    int peer = send->context->peers[send->destination];
    send->receive = clear->receive;
    send->number = (uint32_t)clear->number;
    send->streamed = 0;
    send->wanted = clear->bytes < send->bytes ? clear->bytes : send->bytes;
    co_p2p_enqueue(p2p, peer, &p2p->peers[peer].urgent, &send->queued);
}

// Only who is sent to answers: a number of ours that another one tells is a fault of his, and the bytes may be under
// way.
static void on_answer(struct co_p2p *p2p, int peer, const struct co_packet *packet, const unsigned char *payload)
{
    struct co_packet_clear clear = {0};
    bool is_clear = packet->kind == CO_PACKET_CTS;
    if (packet->bytes != (is_clear ? sizeof(clear) : sizeof(struct co_packet_handle))) {
        return;
    }
    memcpy(&clear, payload, packet->bytes); // both begin with the operation
    struct co_p2p_send *send = co_handles_find(&p2p->sends_named, clear.operation);
    if (send == NULL || send->context->peers[send->destination] != peer) {
        return;
    }
    if (send->early > 0) {
        is_clear ? co_p2p_send_clear(send, &clear) : co_p2p_send_was_read(send);
    } else if (send->receive == 0) {
        is_clear ? send_stream(send, &clear) : co_p2p_send_finish(send, 0);
    }
}

bool co_p2p_on_packet(void *arg, int place, const struct co_packet *packet, const unsigned char *payload)
{
    const struct co_p2p_way *way = arg;
    struct co_p2p *p2p = way->p2p;
    int peer = way->peers == NULL ? place : way->peers[place];
    switch (packet->kind) {
    case CO_PACKET_BROKEN:
        p2p->peers[peer].is_broken = p2p->has_broken_one = true;
        return true;
    case CO_PACKET_EAGER:
        return on_eager(p2p, peer, packet, payload);
    case CO_PACKET_EAGER_SYNC:
    case CO_PACKET_RTS:
        return on_message(p2p, peer, packet, payload);
    case CO_PACKET_EARLY:
        co_p2p_on_early(p2p, peer, payload, packet->bytes);
        return true;
    case CO_PACKET_DATA:
        co_p2p_on_data(p2p, peer, packet->context, payload, packet->bytes);
        return true;
    case CO_PACKET_ACK:
    case CO_PACKET_CTS:
    case CO_PACKET_FIN:
        on_answer(p2p, peer, packet, payload);
        return true;
    case CO_PACKET_READING: // that it came is all
    case CO_PACKET_CREDIT:  // the channel's own
        return true;
    }
    return true;
}
