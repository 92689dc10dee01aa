// SPDX-License-Identifier: BSD-3-Clause
//
// The ring of parcels that have arrived at an endpoint of the loopback transport and wait for its poll. One thread,
// tests only.
#include <stdlib.h>

#include "transport/loopback/loopback_state.h"

void co_loopback_queue_push(struct co_loopback_endpoint *endpoint, struct co_loopback_parcel *parcel)
{
    size_t bound = endpoint->hub->config.ingress_queue_bytes;
    if (bound && endpoint->queue_bytes + parcel->bytes > bound) {
        return;
    }
    if (endpoint->queue_count == endpoint->queue_room) {
        size_t room = endpoint->queue_room ? endpoint->queue_room * 2 : 64;
        struct co_loopback_parcel **queue = malloc(room * sizeof *queue);
        if (!queue) {
            return;
        }
        for (size_t i = 0; i < endpoint->queue_count; i++) {
            queue[i] = endpoint->queue[(endpoint->queue_first + i) % endpoint->queue_room];
        }
        free(endpoint->queue);
        endpoint->queue = queue;
        endpoint->queue_room = room;
        endpoint->queue_first = 0;
    }
    endpoint->queue[(endpoint->queue_first + endpoint->queue_count++) % endpoint->queue_room] = parcel;
    endpoint->queue_bytes += parcel->bytes;
    parcel->references++;
}

struct co_loopback_parcel *co_loopback_queue_pop(struct co_loopback_endpoint *endpoint)
{
    struct co_loopback_parcel *parcel = endpoint->queue[endpoint->queue_first];
    endpoint->queue_first = (endpoint->queue_first + 1) % endpoint->queue_room;
    endpoint->queue_count--;
    endpoint->queue_bytes -= parcel->bytes;
    return parcel;
}

void co_loopback_queue_clear(struct co_loopback_endpoint *endpoint)
{
    while (endpoint->queue_count > 0) {
        co_loopback_parcel_drop(co_loopback_queue_pop(endpoint));
    }
    free(endpoint->queue);
    endpoint->queue = NULL;
    endpoint->queue_room = 0;
}
