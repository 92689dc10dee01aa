// SPDX-License-Identifier: BSD-3-Clause
//
// Answers to senders. They go before all else that waits for room, since what a peer holds up may wait for them.
#include "p2p/reply.h"

#include <errno.h>
#include <string.h>

#include "p2p/finish.h"
#include "p2p/peer_channel.h"
#include "p2p/stream_trials.h"

static bool reply_leaves(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *payload)
{
    return p2p->peers[peer].answers.first == NULL &&
           co_p2p_transmit(p2p, peer, packet, payload, packet->bytes, NULL, 0);
}

static void reply_send(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *payload,
                       struct co_p2p_message *message)
{
    if (p2p->peers[peer].is_gone || reply_leaves(p2p, peer, packet, payload)) {
        co_p2p_message_give(p2p, message);
        return;
    }
    co_p2p_message_strip(p2p, message);
    struct co_p2p_answer *waiting = &message->answer;
    *waiting = (struct co_p2p_answer){.queued = {.is_answer = true}, .packet = *packet};
    memcpy(waiting->payload, payload, packet->bytes);
    co_p2p_enqueue(p2p, peer, &p2p->peers[peer].answers, &waiting->queued);
}

void co_p2p_reply(struct co_p2p *p2p, int peer, enum co_packet_kind kind, uint64_t operation,
                  struct co_p2p_message *message)
{
    struct co_packet_handle handle = {operation};
    struct co_packet packet = {.kind = kind, .bytes = sizeof(handle)};
    reply_send(p2p, peer, &packet, &handle, message);
}

void co_p2p_reply_fin(struct co_p2p *p2p, const struct co_p2p_receive *receive, struct co_p2p_message *message)
{
    struct co_packet_handle handle = {receive->sender_operation};
    struct co_packet packet = {.kind = CO_PACKET_FIN, .bytes = sizeof(handle), .tag = co_p2p_trials_wish(p2p, receive)};
    reply_send(p2p, receive->peer, &packet, &handle, message);
}

void co_p2p_reply_cts(struct co_p2p *p2p, const struct co_p2p_receive *receive, uint32_t number,
                      struct co_p2p_message *message)
{
    struct co_packet_cts cts = {receive->sender_operation, receive->handle, receive->wanted, number};
    struct co_packet packet = {.kind = CO_PACKET_CTS, .bytes = sizeof(cts), .tag = co_p2p_trials_wish(p2p, receive)};
    reply_send(p2p, receive->peer, &packet, &cts, message);
}

bool co_p2p_name_or_refuse(struct co_p2p *p2p, struct co_p2p_receive *receive, struct co_p2p_message *message)
{
    if (co_p2p_receive_name(p2p, receive)) {
        return true;
    }
    co_p2p_reply_fin(p2p, receive, message);
    co_p2p_receive_finish(receive, -ENOMEM);
    return false;
}

void co_p2p_reply_reading(struct co_p2p *p2p, const struct co_p2p_receive *receive)
{
    struct co_packet_handle handle = {receive->sender_operation};
    struct co_packet packet = {.kind = CO_PACKET_READING, .bytes = sizeof(handle)};
    if (!p2p->peers[receive->peer].is_gone) {
        reply_leaves(p2p, receive->peer, &packet, &handle);
    }
}
