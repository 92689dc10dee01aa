// SPDX-License-Identifier: BSD-3-Clause
//
// What finds no room in the channel to a peer waits in its queues, in order. Lock held.
#ifndef CASTOFF_P2P_QUEUE_H
#define CASTOFF_P2P_QUEUE_H

#include "p2p/p2p.h"

struct co_p2p_queue {
    struct co_p2p_queued *first, **last;
};

void co_p2p_queue_open(struct co_p2p_queue *queue);
void co_p2p_enqueue(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue, struct co_p2p_queued *item);
// False: it is not there. Never while the queue is pushed.
bool co_p2p_unqueue(struct co_p2p *p2p, int peer, struct co_p2p_queue *queue, struct co_p2p_queued *item);
// After one was taken out of a queue: the peer may wait for nothing more.
void co_p2p_queue_note_empty(struct co_p2p *p2p, int peer);

static inline struct co_p2p_send *co_p2p_send_of(struct co_p2p_queued *item)
{
    return (struct co_p2p_send *)((char *)item - offsetof(struct co_p2p_send, queued));
}

#endif
