// SPDX-License-Identifier: BSD-3-Clause
//
// Parcels and the heap of flights of the loopback transport. Called by loopback.c, one thread, tests only.
#include "transport/loopback/loopback_flights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct co_loopback_parcel *co_loopback_parcel_make(const struct co_tx_datagram *datagram)
{
    const void *pieces[] = {datagram->head, datagram->payload, datagram->tail};
    size_t sizes[] = {datagram->head_bytes, datagram->payload_bytes, datagram->tail_bytes};
    struct co_loopback_parcel *parcel = malloc(sizeof *parcel + sizes[0] + sizes[1] + sizes[2]);
    if (!parcel) {
        return NULL;
    }
    *parcel = (struct co_loopback_parcel){.references = 1,
                                          .immediate = datagram->immediate,
                                          .region = datagram->region,
                                          .payload = datagram->payload,
                                          .payload_at = datagram->head_bytes,
                                          .payload_bytes = datagram->payload_bytes};
    for (int i = 0; i < 3; i++) {
        if (sizes[i] > 0 && !(i == 1 && parcel->region)) {
            memcpy(parcel->data + parcel->bytes, pieces[i], sizes[i]);
        }
        parcel->bytes += sizes[i];
    }
    return parcel;
}

void co_loopback_parcel_drop(struct co_loopback_parcel *parcel)
{
    if (--parcel->references == 0) {
        free(parcel);
    }
}

static bool is_before(const struct co_loopback_flight *a, const struct co_loopback_flight *b)
{
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns < b->arrival_ns : a->order < b->order;
}

int co_loopback_flights_push(struct co_loopback_flights *flights, struct co_loopback_flight flight)
{
    if (flights->count == flights->room) {
        size_t room = flights->room ? flights->room * 2 : 256;
        struct co_loopback_flight *heap = realloc(flights->heap, room * sizeof *heap);
        if (!heap) {
            return -ENOMEM;
        }
        flights->heap = heap;
        flights->room = room;
    }
    size_t at = flights->count++;
    while (at > 0 && is_before(&flight, &flights->heap[(at - 1) / 2])) {
        flights->heap[at] = flights->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    flights->heap[at] = flight;
    return 0;
}

struct co_loopback_flight co_loopback_flights_pop(struct co_loopback_flights *flights)
{
    struct co_loopback_flight top = flights->heap[0], last = flights->heap[--flights->count];
    size_t at = 0;
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= flights->count) {
            break;
        }
        if (child + 1 < flights->count && is_before(&flights->heap[child + 1], &flights->heap[child])) {
            child++;
        }
        if (!is_before(&flights->heap[child], &last)) {
            break;
        }
        flights->heap[at] = flights->heap[child];
        at = child;
    }
    flights->heap[at] = last;
    return top;
}

void co_loopback_flights_clear(struct co_loopback_flights *flights)
{
    for (size_t i = 0; i < flights->count; i++) {
        co_loopback_parcel_drop(flights->heap[i].parcel);
    }
    free(flights->heap);
    *flights = (struct co_loopback_flights){0};
}
