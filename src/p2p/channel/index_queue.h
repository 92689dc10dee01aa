// SPDX-License-Identifier: BSD-3-Clause
//
// A queue of small numbers between one who puts and one who takes, each under a lock of its own. It never overflows:
// it is made as large as there are numbers, and each is in it once. Header only, hot.
#ifndef CASTOFF_P2P_CHANNEL_INDEX_QUEUE_H
#define CASTOFF_P2P_CHANNEL_INDEX_QUEUE_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/atomics.h"

struct co_index_queue {
    uint16_t *items;
    uint32_t mask;
    _Atomic uint32_t put, taken; // so far
};

static inline int co_index_queue_open(struct co_index_queue *queue, unsigned numbers)
{
    uint32_t room = 1;
    while (room < numbers) {
        room *= 2;
    }
    *queue = (struct co_index_queue){.items = calloc(room, sizeof(uint16_t)), .mask = room - 1};
    return queue->items == NULL ? -1 : 0;
}

static inline void co_index_queue_close(struct co_index_queue *queue)
{
    free(queue->items);
    queue->items = NULL;
}

static inline void co_index_queue_put(struct co_index_queue *queue, unsigned number)
{
    uint32_t put = co_load_relaxed(&queue->put); // relaxed: ours
    queue->items[put & queue->mask] = (uint16_t)number;
    co_store_release(&queue->put, put + 1); // release I1
}

static inline bool co_index_queue_is_empty(const struct co_index_queue *queue)
{
    return co_load_relaxed(&queue->put) == co_load_relaxed(&queue->taken); // relaxed: a hint
}

// False: it is empty.
static inline bool co_index_queue_take(struct co_index_queue *queue, unsigned *number)
{
    uint32_t taken = co_load_relaxed(&queue->taken); // relaxed: ours
    if (co_load_acquire(&queue->put) == taken) {     // acquire I1: what the number stands for, too
        return false;
    }
    *number = queue->items[taken & queue->mask];
    co_store_release(&queue->taken, taken + 1); // nobody waits for its place: the queue is large enough
    return true;
}

#endif
