// SPDX-License-Identifier: BSD-3-Clause
//
// What leaves an endpoint of the loopback transport: a link of given rate with a bounded queue before it. One thread,
// tests only.
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mix_bits.h"
#include "transport/loopback/loopback_state.h"

size_t co_loopback_backlog_bytes(const struct co_loopback_hub *hub, uint64_t free_ns, uint64_t bytes_per_s)
{
    if (free_ns <= hub->now_ns) {
        return 0;
    }
    unsigned __int128 waiting = (unsigned __int128)(free_ns - hub->now_ns) * bytes_per_s;
    return (size_t)(waiting / CO_NS_PER_S);
}

uint64_t co_loopback_wire_ns(uint64_t bytes_per_s, size_t bytes)
{
    return bytes_per_s ? (bytes * CO_NS_PER_S + bytes_per_s - 1) / bytes_per_s : 0;
}

uint64_t co_loopback_start_ns(const struct co_loopback_hub *hub, uint64_t free_ns, uint64_t bytes_per_s)
{
    uint64_t tokens_ns = co_loopback_wire_ns(bytes_per_s, hub->config.burst_bytes);
    uint64_t full_ns = hub->now_ns > tokens_ns ? hub->now_ns - tokens_ns : 0;
    return free_ns > full_ns ? free_ns : full_ns;
}

// An empty queue takes a datagram of any size, or a large one could never leave.
static bool egress_has_room(const struct co_loopback_endpoint *endpoint, size_t bytes)
{
    const struct co_loopback_config *config = &endpoint->hub->config;
    size_t bound = config->egress_queue_bytes;
    size_t backlog = co_loopback_backlog_bytes(endpoint->hub, endpoint->egress_free_ns, config->bytes_per_s);
    return bound == 0 || backlog == 0 || backlog + bytes <= bound;
}

static unsigned most_at_once(struct co_loopback_endpoint *endpoint, unsigned count)
{
    if (!endpoint->hub->config.like_verbs) {
        return count;
    }
    unsigned free_slots = CO_LOOPBACK_SLOTS - endpoint->unsent_count;
    unsigned most = free_slots < CO_LOOPBACK_BATCH ? free_slots : CO_LOOPBACK_BATCH;
    endpoint->is_awaited = endpoint->is_awaited || (count > free_slots && most == free_slots);
    return count < most ? count : most;
}

uint64_t co_loopback_room_ns(const struct co_loopback_endpoint *endpoint)
{
    size_t bound = endpoint->hub->config.egress_queue_bytes, bytes = endpoint->refused_bytes;
    if (bytes == 0 || egress_has_room(endpoint, bytes)) {
        return 0;
    }
    uint64_t early = bytes < bound ? (bound - bytes) * CO_NS_PER_S / endpoint->hub->config.bytes_per_s : 0;
    uint64_t at = endpoint->egress_free_ns > early ? endpoint->egress_free_ns - early : 0;
    return at > endpoint->hub->now_ns ? at : endpoint->hub->now_ns + 1;
}

// Jitter does not change the order of what one endpoint sends.
static uint64_t arrival_ns(struct co_loopback_endpoint *endpoint, uint64_t leaves_ns)
{
    const struct co_loopback_config *config = &endpoint->hub->config;
    uint64_t jitter_ns = config->jitter_ns == 0 ? 0 : co_mix_bits(endpoint->hub->next_order) % config->jitter_ns;
    uint64_t at_ns = leaves_ns + config->latency_ns + jitter_ns;
    endpoint->latest_arrival_ns = at_ns > endpoint->latest_arrival_ns ? at_ns : endpoint->latest_arrival_ns;
    return config->jitter_ns == 0 ? at_ns : endpoint->latest_arrival_ns;
}

static void hold_back(struct co_loopback_endpoint *endpoint, size_t bytes)
{
    struct co_loopback_hub *hub = endpoint->hub;
    endpoint->refused_bytes = bytes;
    if (!endpoint->is_held_back) {
        hub->held_back[hub->held_back_count++] = endpoint->rank;
    }
    endpoint->is_held_back = true;
}

static int flight_start(struct co_loopback_endpoint *endpoint, struct co_destination to,
                        const struct co_tx_datagram *datagram, size_t bytes)
{
    struct co_loopback_hub *hub = endpoint->hub;
    struct co_loopback_parcel *parcel = co_loopback_parcel_make(datagram);
    if (!parcel) {
        return -ENOMEM;
    }
    uint64_t start_ns = co_loopback_start_ns(hub, endpoint->egress_free_ns, hub->config.bytes_per_s);
    uint64_t free_ns = start_ns + co_loopback_wire_ns(hub->config.bytes_per_s, bytes);
    uint64_t leaves_ns = free_ns > hub->now_ns ? free_ns : hub->now_ns;
    struct co_loopback_flight flight = {
        .arrival_ns = arrival_ns(endpoint, leaves_ns),
        .order = hub->next_order++,
        .to = to,
        .from = endpoint->rank,
        .parcel = parcel,
    };
    int error = co_loopback_flights_push(&hub->flights, flight);
    if (error) {
        free(parcel);
        return error;
    }
    endpoint->egress_free_ns = free_ns;
    parcel->leaves_ns = leaves_ns;
    if (hub->config.like_verbs) {
        co_loopback_unsent_add(endpoint, parcel);
    }
    return 0;
}

int co_loopback_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                     unsigned count)
{
    struct co_loopback_endpoint *endpoint = (struct co_loopback_endpoint *)transport;
    struct co_loopback_hub *hub = endpoint->hub;
    unsigned known = to.kind == CO_TO_GROUP ? CO_LOOPBACK_GROUPS : (unsigned)hub->config.endpoints;
    if (to.index >= known) {
        return -EINVAL;
    }
    if (!endpoint->open) {
        return (int)count; // killed: nobody hears it any more
    }
    if (endpoint->is_broken) {
        return -EIO;
    }
    unsigned accepted = 0, most = most_at_once(endpoint, count);
    endpoint->refused_bytes = 0;
    for (; accepted < most; accepted++) {
        const struct co_tx_datagram *datagram = &batch[accepted];
        size_t bytes = co_tx_datagram_bytes(datagram);
        if (bytes > transport->max_datagram_bytes) {
            return -EMSGSIZE;
        }
        if (datagram->region && !co_loopback_region_holds(endpoint, datagram)) {
            return -EFAULT;
        }
        if (!egress_has_room(endpoint, bytes) && hub->config.egress_drops) {
            hub->overflows++;
            continue;
        }
        if (!egress_has_room(endpoint, bytes)) {
            hold_back(endpoint, bytes);
            break;
        }
        int error = flight_start(endpoint, to, datagram, bytes);
        if (error) {
            return error;
        }
    }
    return (int)accepted;
}
