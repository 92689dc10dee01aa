// SPDX-License-Identifier: BSD-3-Clause
//
// Queue with many producers and one consumer; nodes live inside the caller's objects, so nothing is allocated.
//
// Class: push is wait-free, one exchange and one store. Pop never waits, but a producer that is preempted between its
// exchange and its store hides its own node and all later ones until it goes on: pop then answers NULL although the
// queue is not empty. So a consumer that wants to sleep must be woken by the producers after their push. First in,
// first out for each producer, and for pushes that happen one after the other. (The algorithm is D. Vyukov's
// intrusive MPSC queue.) Hot; header only.
#ifndef CASTOFF_BASE_MPSC_QUEUE_H
#define CASTOFF_BASE_MPSC_QUEUE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/atomics.h"

struct co_mpsc_node {
    struct co_mpsc_node *_Atomic next;
};

struct co_mpsc_queue {
    alignas(CO_LINE_PAIR) struct co_mpsc_node *_Atomic newest; // the producers' side
    alignas(CO_LINE_PAIR) struct co_mpsc_node *oldest;         // the consumer's side
    struct co_mpsc_node bottom;                                // stands for "empty", so that a list always has a node
};

// Before any other thread knows the queue.
static inline void co_mpsc_queue_open(struct co_mpsc_queue *queue)
{
    atomic_init(&queue->bottom.next, NULL);
    atomic_init(&queue->newest, &queue->bottom);
    queue->oldest = &queue->bottom;
}

// Any thread. The node is the queue's until pop returns it.
static inline void co_mpsc_queue_push(struct co_mpsc_queue *queue, struct co_mpsc_node *node)
{
    co_store_relaxed(&node->next, NULL); // relaxed: published by Q1 with the rest of the node
    // acq_rel Q1: the next producer, who will write our `next`, must see the NULL above written before.
    struct co_mpsc_node *before = atomic_exchange_explicit(&queue->newest, node, memory_order_acq_rel);
    co_store_release(&before->next, node); // release Q2, read by Q2 in pop: everything in the node is visible
}

// The consumer only. NULL: empty, or the producer of the oldest one is still at it.
static inline struct co_mpsc_node *co_mpsc_queue_pop(struct co_mpsc_queue *queue)
{
    struct co_mpsc_node *oldest = queue->oldest;
    struct co_mpsc_node *next = co_load_acquire(&oldest->next); // acquire Q2

    if (oldest == &queue->bottom) {
        if (!next) {
            return NULL;
        }
        queue->oldest = oldest = next;
        next = co_load_acquire(&oldest->next); // acquire Q2
    }
    if (!next && co_load_acquire(&queue->newest) == oldest) { // acquire Q1
        // The last one: the bottom goes in behind it, since a list must not lose its only node.
        co_mpsc_queue_push(queue, &queue->bottom);
        next = co_load_acquire(&oldest->next); // acquire Q2; NULL if a producer came between and is still at it
    }
    if (!next) {
        return NULL;
    }
    queue->oldest = next;
    return oldest;
}

#endif
