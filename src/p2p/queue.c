// SPDX-License-Identifier: BSD-3-Clause
//
// What finds no room in a channel waits here, in order: answers first of all, since what a peer holds up may wait for
// them; then data that it waits for and messages, in turn. Lock held.
#include <stdlib.h>
#include <string.h>

#include "p2p/p2p_state.h"

void co_p2p_queue_open(struct co_p2p_queue *queue)
{
    *queue = (struct co_p2p_queue){.last = &queue->first};
}

void co_p2p_enqueue(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue, struct co_p2p_queued *item)
{
    item->next = NULL;
    *queue->last = item;
    queue->last = &item->next;
    if (!p2p->peers[peer].is_waiting) {
        p2p->peers[peer].is_waiting = true;
        p2p->waiting++;
    }
}

static void note_empty(struct co_p2p *p2p, struct co_p2p_peer *peer)
{
    if (peer->answers.first == NULL && peer->urgent.first == NULL && peer->messages.first == NULL) {
        peer->is_waiting = false;
        p2p->waiting--;
    }
}

// False: it is not there. Never while the queue is pushed.
bool co_p2p_unqueue(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue, struct co_p2p_queued *item)
{
    struct co_p2p_queued **link = &queue->first;
    while (*link != NULL && *link != item) {
        link = &(*link)->next;
    }
    if (*link == NULL) {
        return false;
    }
    *link = item->next;
    if (*link == NULL) {
        queue->last = link;
    }
    note_empty(p2p, &p2p->peers[peer]);
    return true;
}

static struct co_p2p_send *send_of(struct co_p2p_queued *item)
{
    return (struct co_p2p_send *)((char *)item - offsetof(struct co_p2p_send, queued));
}

static bool push_answer(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    struct co_p2p_answer *answer = (struct co_p2p_answer *)item;
    if (!co_p2p_transmit(p2p, peer, &answer->packet, answer->payload, answer->packet.bytes, NULL, 0)) {
        return false;
    }
    free(answer);
    return true;
}

static bool push_data(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    return co_p2p_push_data(p2p, peer, send_of(item));
}

// Taken out before it is pushed: once it is done it may be gone.
static bool push_first(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue,
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

static bool push_queued_message(struct co_p2p *p2p, int peer, struct co_p2p_queued *item)
{
    return co_p2p_push_message(p2p, peer, send_of(item));
}

static void push_all(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue,
                     bool (*push)(struct co_p2p *, int, struct co_p2p_queued *))
{
    while (queue->first != NULL && push_first(p2p, peer, queue, push)) {
    }
}

static void push_peer(struct co_p2p *p2p, int peer)
{
    struct co_p2p_peer *state = &p2p->peers[peer];
    push_all(p2p, peer, &state->answers, push_answer);
    for (int i = 0; i < 2; i++) { // in turn, so that a long stream does not hold up what is behind it
        if (state->messages_are_next) {
            push_all(p2p, peer, &state->messages, push_queued_message);
        } else {
            push_all(p2p, peer, &state->urgent, push_data);
        }
        state->messages_are_next = i == 0 ? !state->messages_are_next : state->messages_are_next;
    }
    note_empty(p2p, state);
}

int co_p2p_push_waiting(struct co_p2p *p2p)
{
    uint64_t before = p2p->transmitted;
    for (int peer = 0; peer < p2p->config.size && p2p->waiting > 0; peer++) {
        if (p2p->peers[peer].is_waiting) {
            push_peer(p2p, peer);
        }
    }
    return (int)(p2p->transmitted - before);
}

void co_p2p_answer(struct co_p2p *p2p, int peer, const struct co_packet *packet, const void *payload)
{
    if (p2p->peers[peer].is_gone) {
        return;
    }
    if (p2p->peers[peer].answers.first == NULL && co_p2p_transmit(p2p, peer, packet, payload, packet->bytes, NULL, 0)) {
        return;
    }
    struct co_p2p_answer *answer = calloc(1, sizeof(*answer));
    if (answer != NULL) { // else the peer waits until it is told that we are gone
        answer->queued.is_answer = true;
        answer->packet = *packet;
        memcpy(answer->payload, payload, packet->bytes);
        co_p2p_enqueue(p2p, peer, &p2p->peers[peer].answers, &answer->queued);
    }
}
