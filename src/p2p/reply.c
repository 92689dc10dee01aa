// SPDX-License-Identifier: BSD-3-Clause
//
// Answers to senders. They go before all else that waits for room, since what a peer holds up may wait for them.
#include "p2p/reply.h"

#include <stdlib.h>
#include <string.h>

#include "p2p/peer_channel.h"

static void reply_send(struct co_p2p *p2p, int peer, enum co_packet_kind kind, const void *payload, size_t bytes)
{
    struct co_packet packet = {.kind = kind, .bytes = (uint32_t)bytes};
    if (p2p->peers[peer].is_gone) {
        return;
    }
    if (p2p->peers[peer].answers.first == NULL && co_p2p_transmit(p2p, peer, &packet, payload, bytes, NULL, 0)) {
        return;
    }
    struct co_p2p_answer *waiting = calloc(1, sizeof(*waiting));
    if (waiting != NULL) { // else the peer waits until it is told that we are gone
        waiting->queued.is_answer = true;
        waiting->packet = packet;
        memcpy(waiting->payload, payload, bytes);
        co_p2p_enqueue(p2p, peer, &p2p->peers[peer].answers, &waiting->queued);
    }
}

void co_p2p_reply(struct co_p2p *p2p, int peer, enum co_packet_kind kind, uint64_t operation)
{
    struct co_packet_handle handle = {operation};
    reply_send(p2p, peer, kind, &handle, sizeof(handle));
}

void co_p2p_reply_cts(struct co_p2p *p2p, const struct co_p2p_receive *receive, uint32_t number)
{
    struct co_packet_cts cts = {receive->sender_operation, receive->handle, receive->wanted, number};
    reply_send(p2p, receive->peer, CO_PACKET_CTS, &cts, sizeof(cts));
}
