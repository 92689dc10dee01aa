// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of a datagram at the end of its flight: to whom it goes, and through which port of a switch.
#include "transport/loopback/loopback_state.h"

void co_loopback_refuse(struct co_loopback_hub *hub, int rank, int peer)
{
    struct co_loopback_endpoint *endpoint = &hub->endpoints[rank];
    if (endpoint->open) {
        co_loopback_note(&endpoint->refused, peer);
    }
}

void co_loopback_set_port(struct co_loopback_hub *hub, int rank, uint64_t bytes_per_s)
{
    hub->endpoints[rank].port_bytes_per_s = bytes_per_s;
}

// Through the switch's port before it, where there is one.
static void arrive(struct co_loopback_hub *hub, int rank, const struct co_loopback_flight *flight)
{
    struct co_loopback_endpoint *endpoint = &hub->endpoints[rank];
    uint64_t rate = endpoint->port_bytes_per_s;
    if (rate == 0 || flight->is_through || flight->from == rank) {
        co_loopback_queue_push(endpoint, flight->parcel);
        return;
    }
    size_t bound = hub->config.port_queue_bytes, bytes = flight->parcel->bytes;
    size_t backlog = co_loopback_backlog_bytes(hub, endpoint->port_free_ns, rate);
    uint64_t free_ns = co_loopback_start_ns(hub, endpoint->port_free_ns, rate) + co_loopback_wire_ns(rate, bytes);
    struct co_loopback_flight through = *flight;
    through.arrival_ns = free_ns > hub->now_ns ? free_ns : hub->now_ns;
    through.order = hub->next_order++;
    through.to = (struct co_destination){CO_TO_PEER, (unsigned)rank};
    through.is_through = true;
    if ((bound != 0 && backlog + bytes > bound) || co_loopback_flights_push(&hub->flights, through) != 0) {
        hub->overflows++;
        return;
    }
    endpoint->port_free_ns = free_ns;
    flight->parcel->references++;
}

static void flight_land(struct co_loopback_hub *hub, const struct co_loopback_flight *flight)
{
    if (flight->parcel->is_lost) {
        co_loopback_parcel_drop(flight->parcel);
        return;
    }
    if (flight->to.kind == CO_TO_PEER) {
        struct co_loopback_endpoint *peer = &hub->endpoints[flight->to.index];
        if (peer->open) {
            arrive(hub, (int)flight->to.index, flight);
        } else if (peer->gone) {
            co_loopback_refuse(hub, flight->from, (int)flight->to.index);
        }
    } else {
        for (int i = 0; i < hub->config.endpoints; i++) {
            struct co_loopback_endpoint *member = &hub->endpoints[i];
            if (member->open && (member->joined >> flight->to.index & 1)) {
                arrive(hub, i, flight);
            }
        }
    }
    co_loopback_parcel_drop(flight->parcel);
}

// Those who have room now are held back no more.
static void let_go(struct co_loopback_hub *hub)
{
    int kept = 0;
    for (int i = 0; i < hub->held_back_count; i++) {
        struct co_loopback_endpoint *endpoint = &hub->endpoints[hub->held_back[i]];
        endpoint->is_held_back = endpoint->open && co_loopback_room_ns(endpoint) != 0;
        hub->held_back[kept] = endpoint->rank;
        kept += endpoint->is_held_back;
    }
    hub->held_back_count = kept;
}

void co_loopback_advance(struct co_loopback_hub *hub, uint64_t to_ns)
{
    if (to_ns > hub->now_ns) {
        hub->now_ns = to_ns;
        let_go(hub);
    }
    for (int i = 0; i < hub->config.endpoints && hub->config.like_verbs; i++) {
        co_loopback_unsent_leave(&hub->endpoints[i]);
        co_loopback_reads_end(&hub->endpoints[i]);
    }
    while (hub->flights.count > 0 && hub->flights.heap[0].arrival_ns <= hub->now_ns) {
        struct co_loopback_flight flight = co_loopback_flights_pop(&hub->flights);
        flight_land(hub, &flight);
    }
}
