// SPDX-License-Identifier: BSD-3-Clause
//
// Queues of bytes; see the header.
#include "offload/carrier/carrier_queue.h"
#include "base/memory/memory_copy.h"

#include <stdlib.h>
#include <string.h>

uint8_t *co_carrier_queue_reserve(struct co_carrier_queue *queue, size_t bytes)
{
    if (queue->room - queue->at - queue->bytes >= bytes) {
        return queue->data + queue->at + queue->bytes;
    }
    if (queue->room - queue->bytes < bytes || queue->at < queue->bytes) { // moving costs less than it gives
        size_t room = queue->bytes + (bytes > queue->bytes ? bytes : queue->bytes);
        uint8_t *data = malloc(room);
        if (data == NULL) {
            return NULL;
        }
        co_memory_copy(data, queue->data + queue->at, queue->bytes);
        free(queue->data);
        queue->data = data;
        queue->room = room;
    } else {
        memmove(queue->data, queue->data + queue->at, queue->bytes);
    }
    queue->at = 0;
    return queue->data + queue->bytes;
}

bool co_carrier_queue_append(struct co_carrier_queue *queue, const void *data, size_t bytes)
{
    uint8_t *to = co_carrier_queue_reserve(queue, bytes);
    if (to == NULL) {
        return false;
    }
    co_memory_copy(to, data, bytes);
    queue->bytes += bytes;
    return true;
}

void co_carrier_queue_consume(struct co_carrier_queue *queue, size_t bytes)
{
    queue->at += bytes;
    queue->bytes -= bytes;
    if (queue->bytes == 0) {
        co_carrier_queue_clear(queue);
    }
}

void co_carrier_queue_clear(struct co_carrier_queue *queue)
{
    free(queue->data);
    *queue = (struct co_carrier_queue){0};
}
