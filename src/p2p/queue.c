// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of what finds no room in the channel to a peer. Lock held.
#include "p2p/queue.h"

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

void co_p2p_queue_note_empty(struct co_p2p *p2p, int peer)
{
    struct co_p2p_peer *state = &p2p->peers[peer];
    if (state->answers.first == NULL && state->urgent.first == NULL && state->messages.first == NULL) {
        state->is_waiting = false;
        p2p->waiting--;
    }
}

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
    co_p2p_queue_note_empty(p2p, peer);
    return true;
}
