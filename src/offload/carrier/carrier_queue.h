// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that wait for a socket, or for the rest of their frame. One thread; hot.
#ifndef CASTOFF_OFFLOAD_CARRIER_CARRIER_QUEUE_H
#define CASTOFF_OFFLOAD_CARRIER_CARRIER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_carrier_queue {
    uint8_t *data;
    size_t room, at, bytes; // from `at` on
};

static inline const uint8_t *co_carrier_queue_front(const struct co_carrier_queue *queue)
{
    return queue->data + queue->at;
}

// Room for so many behind what is there, or NULL: out of memory.
uint8_t *co_carrier_queue_reserve(struct co_carrier_queue *queue, size_t bytes);
bool co_carrier_queue_append(struct co_carrier_queue *queue, const void *data, size_t bytes); // false: out of memory
// So many have gone from the front. The memory of an empty queue is given back.
void co_carrier_queue_consume(struct co_carrier_queue *queue, size_t bytes);
void co_carrier_queue_clear(struct co_carrier_queue *queue);

#endif
