// SPDX-License-Identifier: BSD-3-Clause
//
// Queues between proxies; see the header.
#include "loopback_carrier.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct loopback_record {
    struct loopback_record *next;
    size_t bytes;
    uint8_t data[];
};

static void queue_put(struct loopback_hub *hub, int from, int to, enum co_carrier_connection connection,
                      const void *record, size_t bytes)
{
    struct loopback_queue *queue = &hub->queues[from][to][connection];

    if (hub->ends[from].is_dead || hub->ends[to].is_dead) {
        return;
    }
    struct loopback_record *copy = malloc(sizeof *copy + bytes);
    assert(copy != NULL && from != to);
    memcpy(copy->data, record, bytes);
    copy->bytes = bytes;
    copy->next = NULL;
    *queue->newest = copy;
    queue->newest = &copy->next;
    queue->count++;
    hub->records++;
}

static struct loopback_record *queue_take(struct loopback_queue *queue)
{
    struct loopback_record *record = queue->oldest;
    if (record != NULL) {
        queue->oldest = record->next;
        queue->count--;
        if (queue->oldest == NULL) {
            queue->newest = &queue->oldest;
        }
    }
    return record;
}

static void carrier_control(struct co_carrier *carrier, int peer, const void *record, size_t bytes)
{
    struct loopback_end *end = (struct loopback_end *)carrier;
    queue_put(end->hub, end->self, peer, CO_CARRIER_CONTROL, record, bytes);
}

static bool carrier_has_room(struct co_carrier *carrier, int peer)
{
    struct loopback_end *end = (struct loopback_end *)carrier;
    return end->hub->queues[end->self][peer][CO_CARRIER_BULK].count < end->hub->bulk_room;
}

static void carrier_bulk(struct co_carrier *carrier, int peer, const void *record, size_t bytes)
{
    struct loopback_end *end = (struct loopback_end *)carrier;
    assert(carrier_has_room(carrier, peer));
    queue_put(end->hub, end->self, peer, CO_CARRIER_BULK, record, bytes);
}

static const struct co_carrier_ops loopback_ops = {
    .name = "loopback", .control = carrier_control, .has_room = carrier_has_room, .bulk = carrier_bulk};

void loopback_open(struct loopback_hub *hub, int proxies, unsigned bulk_room)
{
    *hub = (struct loopback_hub){.proxies = proxies, .bulk_room = bulk_room};
    for (int from = 0; from < LOOPBACK_PROXIES; from++) {
        hub->ends[from] = (struct loopback_end){.carrier.ops = &loopback_ops, .hub = hub, .self = from};
        for (int to = 0; to < LOOPBACK_PROXIES; to++) {
            for (int connection = 0; connection < CO_CARRIER_CONNECTIONS; connection++) {
                struct loopback_queue *queue = &hub->queues[from][to][connection];
                queue->newest = &queue->oldest;
            }
        }
    }
}

static void queue_clear(struct loopback_queue *queue)
{
    struct loopback_record *record;
    while ((record = queue_take(queue)) != NULL) {
        free(record);
    }
}

void loopback_kill(struct loopback_hub *hub, int proxy)
{
    hub->ends[proxy].is_dead = true;
    for (int other = 0; other < LOOPBACK_PROXIES; other++) {
        for (int connection = 0; connection < CO_CARRIER_CONNECTIONS; connection++) {
            queue_clear(&hub->queues[proxy][other][connection]);
            queue_clear(&hub->queues[other][proxy][connection]);
        }
    }
}

void loopback_close(struct loopback_hub *hub)
{
    for (int proxy = 0; proxy < hub->proxies; proxy++) {
        loopback_kill(hub, proxy);
    }
}

unsigned loopback_waiting(const struct loopback_hub *hub, int from, int to, enum co_carrier_connection connection)
{
    return hub->queues[from][to][connection].count;
}

bool loopback_deliver(struct loopback_hub *hub, int from, int to, enum co_carrier_connection connection, void *context,
                      void (*hear)(void *context, int from, int to, enum co_carrier_connection connection,
                                   const uint8_t *record, size_t bytes))
{
    struct loopback_record *record = queue_take(&hub->queues[from][to][connection]);
    if (record == NULL) {
        return false;
    }
    hear(context, from, to, connection, record->data, record->bytes);
    free(record);
    return true;
}
