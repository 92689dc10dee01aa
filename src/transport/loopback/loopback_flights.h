// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams under way inside the loopback transport: shared parcels of bytes, and a heap of flights by arrival time.
// Used by loopback.c only; tests' side of the world, so malloc for each datagram is fine. One thread.
#ifndef CASTOFF_TRANSPORT_LOOPBACK_FLIGHTS_H
#define CASTOFF_TRANSPORT_LOOPBACK_FLIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdalign.h>
#include <stdint.h>

#include "transport/transport.h"

// One datagram in flight or in receive queues; a group's receivers share it. One whose payload stands in a region has a
// hole in its place until it leaves.
struct co_loopback_parcel {
    unsigned references;
    struct co_loopback_parcel *next_unsent;
    uint64_t leaves_ns;
    const struct co_region *region; // until it has left
    const void *payload;
    size_t payload_at, payload_bytes;
    bool is_lost;         // never left
    uint64_t read_number; // of the read that brought it, 0: none
    size_t bytes;
    uint32_t immediate;
    alignas(uint64_t) uint8_t data[];
};

struct co_loopback_flight {
    uint64_t arrival_ns;
    uint64_t order; // ties arrive as they were sent
    struct co_destination to;
    int from;
    bool is_through; // the port before its receiver
    struct co_loopback_parcel *parcel;
};

struct co_loopback_flights {
    struct co_loopback_flight *heap; // heap[0] arrives first
    size_t count, room;
};

// The pieces joined, one reference; NULL: no memory.
struct co_loopback_parcel *co_loopback_parcel_make(const struct co_tx_datagram *datagram);
void co_loopback_parcel_drop(struct co_loopback_parcel *parcel);

int co_loopback_flights_push(struct co_loopback_flights *flights, struct co_loopback_flight flight);
struct co_loopback_flight co_loopback_flights_pop(struct co_loopback_flights *flights); // not of an empty heap
void co_loopback_flights_clear(struct co_loopback_flights *flights);

#endif
