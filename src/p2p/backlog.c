// SPDX-License-Identifier: BSD-3-Clause
//
// What found no room in a channel is pushed again: answers first of all, since what a peer holds up may wait for them;
// then data that it waits for and messages, in turn. Lock held.
#include "p2p/backlog.h"

#include "p2p/eager_or_rendezvous.h"
#include "p2p/message.h"
#include "p2p/rendezvous_transfer.h"
#include "p2p/peer_channel.h"
#include "p2p/stream_send.h"

static bool answer_push(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    struct co_p2p_message *message = co_p2p_message_of(item);
    const struct co_p2p_answer *answer = &message->answer;
    if (!co_p2p_transmit(p2p, peer, &answer->packet, answer->payload, answer->packet.bytes, NULL, 0)) {
        return false;
    }
    co_p2p_message_give(p2p, message);
    return true;
}

static bool data_push(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    struct co_p2p_send *send = co_p2p_send_of(item);
    return p2p->peers[peer].is_remote ? co_p2p_transfer_send(send) : co_p2p_push_pieces(p2p, peer, send);
}

// Taken out before it is pushed: once it is done it may be gone.
static bool queue_push_first(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue,
                             bool (*push)(struct co_p2p *, int, struct co_p2p_queued *))
{
    struct co_p2p_queued *item = queue->first, *next = item->next;
    if (!push(p2p, peer, item)) {
        return false;
    }
    queue->first = next;
    if (next == NULL) {
        queue->last = &queue->first;
    }
    return true;
}

static bool message_push(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    return co_p2p_push_message(p2p, peer, co_p2p_send_of(item));
}

static void queue_push_all(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue,
                           bool (*push)(struct co_p2p *, int, struct co_p2p_queued *))
{
    while (queue->first != NULL && queue_push_first(p2p, peer, queue, push)) {
    }
}

static void peer_push(struct co_p2p *p2p, int peer)
{
    struct co_p2p_peer *state = &p2p->peers[peer];
    queue_push_all(p2p, peer, &state->answers, answer_push);
    for (int i = 0; i < 2; i++) { // in turn, so that a long stream does not hold up what is behind it
        if (state->messages_are_next) {
            queue_push_all(p2p, peer, &state->messages, message_push);
        } else {
            queue_push_all(p2p, peer, &state->urgent, data_push);
        }
        state->messages_are_next = i == 0 ? !state->messages_are_next : state->messages_are_next;
    }
    co_p2p_queue_note_empty(p2p, peer);
}

int co_p2p_push_waiting(struct co_p2p *p2p)
{
    uint64_t before = p2p->transmitted;
    for (int peer = 0; peer < p2p->config.size && p2p->waiting > 0; peer++) {
        if (p2p->peers[peer].is_waiting) {
            peer_push(p2p, peer);
        }
    }
    return (int)(p2p->transmitted - before);
}
