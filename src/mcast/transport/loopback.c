// SPDX-License-Identifier: BSD-3-Clause
//
// The in-process transport: a hub with a virtual clock, the datagrams in flight, and one receive queue for
// each endpoint. Used by unit tests and fuzz targets only, by one thread; nothing here sleeps or reads a clock.
#include "mcast/transport/loopback.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mcast/transport/loopback_flights.h"

#define GROUPS_MAX 16

struct endpoint {
    struct co_transport transport; // first: ops get a pointer to it
    struct co_loopback_hub *hub;
    int rank;
    unsigned joined; // bit for each group
    bool open, gone;
    uint64_t egress_free_ns;           // when everything accepted so far has left
    size_t refused_bytes;              // size of the datagram that found no room, 0: none
    struct co_loopback_parcel **queue; // ring of what has arrived
    size_t queue_room, queue_first, queue_count, queue_bytes;
    bool *told_dead; // peers known to be gone
    int *dead;       // of these, the ones that dead_peer has still to tell
    int dead_count;
};

struct co_loopback_hub {
    struct co_loopback_config config;
    uint64_t now_ns, next_order;
    struct endpoint *endpoints;
    struct co_loopback_flights flights;
};

// A full queue, or no memory for a longer one, loses the datagram as a socket would.
static void queue_push(struct endpoint *endpoint, struct co_loopback_parcel *parcel)
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

static struct co_loopback_parcel *queue_pop(struct endpoint *endpoint)
{
    struct co_loopback_parcel *parcel = endpoint->queue[endpoint->queue_first];
    endpoint->queue_first = (endpoint->queue_first + 1) % endpoint->queue_room;
    endpoint->queue_count--;
    endpoint->queue_bytes -= parcel->bytes;
    return parcel;
}

static void queue_clear(struct endpoint *endpoint)
{
    while (endpoint->queue_count > 0) {
        co_loopback_parcel_drop(queue_pop(endpoint));
    }
    free(endpoint->queue);
    endpoint->queue = NULL;
    endpoint->queue_room = 0;
}

// The port is unreachable: the sender hears of it once, as it would by ICMP.
static void peer_is_dead(struct co_loopback_hub *hub, int sender, int peer)
{
    struct endpoint *endpoint = &hub->endpoints[sender];
    if (endpoint->open && !endpoint->told_dead[peer]) {
        endpoint->told_dead[peer] = true;
        endpoint->dead[endpoint->dead_count++] = peer;
    }
}

static void flight_land(struct co_loopback_hub *hub, const struct co_loopback_flight *flight)
{
    if (flight->to.kind == CO_TO_PEER) {
        struct endpoint *peer = &hub->endpoints[flight->to.index];
        if (peer->open) {
            queue_push(peer, flight->parcel);
        } else if (peer->gone) {
            peer_is_dead(hub, flight->from, (int)flight->to.index);
        }
    } else {
        for (int i = 0; i < hub->config.endpoints; i++) {
            struct endpoint *member = &hub->endpoints[i];
            if (member->open && (member->joined >> flight->to.index & 1)) {
                queue_push(member, flight->parcel);
            }
        }
    }
    co_loopback_parcel_drop(flight->parcel);
}

void co_loopback_advance(struct co_loopback_hub *hub, uint64_t to_ns)
{
    if (to_ns > hub->now_ns) {
        hub->now_ns = to_ns;
    }
    while (hub->flights.count > 0 && hub->flights.heap[0].arrival_ns <= hub->now_ns) {
        struct co_loopback_flight flight = co_loopback_flights_pop(&hub->flights);
        flight_land(hub, &flight);
    }
}

static size_t egress_backlog_bytes(const struct endpoint *endpoint)
{
    const struct co_loopback_hub *hub = endpoint->hub;
    if (endpoint->egress_free_ns <= hub->now_ns) {
        return 0;
    }
    unsigned __int128 waiting = (unsigned __int128)(endpoint->egress_free_ns - hub->now_ns) * hub->config.bytes_per_s;
    return (size_t)(waiting / CO_NS_PER_S);
}

static uint64_t wire_ns(const struct co_loopback_hub *hub, size_t bytes)
{
    uint64_t rate = hub->config.bytes_per_s;
    return rate ? (bytes * CO_NS_PER_S + rate - 1) / rate : 0;
}

// An empty queue takes a datagram of any size, or a large one could never leave.
static bool egress_has_room(const struct endpoint *endpoint, size_t bytes)
{
    size_t bound = endpoint->hub->config.egress_queue_bytes, backlog = egress_backlog_bytes(endpoint);
    return bound == 0 || backlog == 0 || backlog + bytes <= bound;
}

// When a refused datagram will fit, 0: none was refused or it fits now.
static uint64_t egress_room_ns(const struct endpoint *endpoint)
{
    size_t bound = endpoint->hub->config.egress_queue_bytes, bytes = endpoint->refused_bytes;
    if (bytes == 0 || egress_has_room(endpoint, bytes)) {
        return 0;
    }
    uint64_t early = bytes < bound ? (bound - bytes) * CO_NS_PER_S / endpoint->hub->config.bytes_per_s : 0;
    uint64_t at = endpoint->egress_free_ns > early ? endpoint->egress_free_ns - early : 0;
    return at > endpoint->hub->now_ns ? at : endpoint->hub->now_ns + 1;
}

static int flight_start(struct endpoint *endpoint, struct co_destination to, const struct co_tx_datagram *datagram,
                        size_t bytes)
{
    struct co_loopback_hub *hub = endpoint->hub;
    struct co_loopback_parcel *parcel = co_loopback_parcel_make(datagram);
    if (!parcel) {
        return -ENOMEM;
    }
    uint64_t start_ns = endpoint->egress_free_ns > hub->now_ns ? endpoint->egress_free_ns : hub->now_ns;
    uint64_t leaves_ns = start_ns + wire_ns(hub, bytes);
    struct co_loopback_flight flight = {
        .arrival_ns = leaves_ns + hub->config.latency_ns,
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
    endpoint->egress_free_ns = leaves_ns;
    return 0;
}

static int loopback_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                         unsigned count)
{
    struct endpoint *endpoint = (struct endpoint *)transport;
    struct co_loopback_hub *hub = endpoint->hub;
    unsigned known = to.kind == CO_TO_GROUP ? GROUPS_MAX : (unsigned)hub->config.endpoints;
    if (to.index >= known) {
        return -EINVAL;
    }
    if (!endpoint->open) {
        return (int)count; // killed: nobody hears it any more
    }
    if (to.kind == CO_TO_PEER && endpoint->told_dead[to.index]) {
        return -ECONNREFUSED;
    }
    unsigned accepted = 0;
    endpoint->refused_bytes = 0;
    for (; accepted < count; accepted++) {
        const struct co_tx_datagram *datagram = &batch[accepted];
        size_t bytes = (size_t)datagram->head_bytes + datagram->payload_bytes + datagram->tail_bytes;
        if (bytes > transport->max_datagram_bytes) {
            return -EMSGSIZE;
        }
        if (!egress_has_room(endpoint, bytes)) {
            endpoint->refused_bytes = bytes;
            break;
        }
        int error = flight_start(endpoint, to, datagram, bytes);
        if (error) {
            return error;
        }
    }
    co_loopback_advance(hub, hub->now_ns);
    return (int)accepted;
}

static int loopback_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct endpoint *endpoint = (struct endpoint *)transport;
    unsigned done = 0;
    while (done < budget && endpoint->queue_count > 0) {
        struct co_loopback_parcel *parcel = queue_pop(endpoint);
        deliver(arg, parcel->data, parcel->bytes);
        co_loopback_parcel_drop(parcel);
        done++;
    }
    return (int)done;
}

static int loopback_join(struct co_transport *transport, unsigned index)
{
    if (index >= GROUPS_MAX) {
        return -EINVAL;
    }
    ((struct endpoint *)transport)->joined |= 1U << index;
    return 0;
}

static void loopback_leave(struct co_transport *transport, unsigned index)
{
    if (index < GROUPS_MAX) {
        ((struct endpoint *)transport)->joined &= ~(1U << index);
    }
}

// Virtual time wakes nobody: the test advances the clock instead.
static int loopback_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    (void)transport, (void)fds, (void)room, (void)want_write;
    return 0;
}

static uint64_t loopback_next_event_ns(struct co_transport *transport)
{
    const struct endpoint *endpoint = (struct endpoint *)transport;
    return endpoint->queue_count > 0 ? endpoint->hub->now_ns : co_loopback_next_ns(endpoint->hub);
}

static int loopback_dead_peer(struct co_transport *transport)
{
    struct endpoint *endpoint = (struct endpoint *)transport;
    return endpoint->dead_count > 0 ? endpoint->dead[--endpoint->dead_count] : -1;
}

static void endpoint_stop(struct endpoint *endpoint)
{
    endpoint->open = false;
    endpoint->gone = true;
    endpoint->joined = 0;
    queue_clear(endpoint);
    endpoint->queue_first = endpoint->queue_bytes = 0;
}

static void loopback_close(struct co_transport *transport)
{
    struct endpoint *endpoint = (struct endpoint *)transport;
    endpoint_stop(endpoint);
    free(endpoint->told_dead);
    free(endpoint->dead);
    endpoint->told_dead = NULL;
    endpoint->dead = NULL;
    endpoint->dead_count = 0;
}

static const struct co_transport_ops loopback_ops = {
    .name = "loopback",
    .join = loopback_join,
    .leave = loopback_leave,
    .send = loopback_send,
    .poll = loopback_poll,
    .descriptors = loopback_descriptors,
    .next_event_ns = loopback_next_event_ns,
    .dead_peer = loopback_dead_peer,
    .close = loopback_close,
};

int co_loopback_hub_open(struct co_loopback_hub **out, const struct co_loopback_config *config)
{
    if (config->endpoints < 1 || config->max_datagram_bytes < 1) {
        return -EINVAL;
    }
    struct co_loopback_hub *hub = calloc(1, sizeof *hub);
    if (!hub) {
        return -ENOMEM;
    }
    hub->endpoints = calloc((size_t)config->endpoints, sizeof *hub->endpoints);
    if (!hub->endpoints) {
        free(hub);
        return -ENOMEM;
    }
    hub->config = *config;
    hub->now_ns = 1; // 0 means "no event"
    *out = hub;
    return 0;
}

void co_loopback_hub_close(struct co_loopback_hub *hub)
{
    co_loopback_flights_clear(&hub->flights);
    free(hub->endpoints);
    free(hub);
}

int co_loopback_endpoint_open(struct co_transport **out, struct co_loopback_hub *hub, int rank)
{
    if (rank < 0 || rank >= hub->config.endpoints || hub->endpoints[rank].told_dead) {
        return -EINVAL;
    }
    struct endpoint *endpoint = &hub->endpoints[rank];
    size_t count = (size_t)hub->config.endpoints;
    bool *told = calloc(count, sizeof *told);
    int *dead = calloc(count, sizeof *dead);
    if (!told || !dead) {
        free(told);
        free(dead);
        return -ENOMEM;
    }
    *endpoint = (struct endpoint){
        .transport = {.ops = &loopback_ops,
                      .max_datagram_bytes = hub->config.max_datagram_bytes,
                      .max_batch = 64,
                      .receive_buffer_bytes = hub->config.ingress_queue_bytes},
        .hub = hub,
        .rank = rank,
        .open = true,
        .told_dead = told,
        .dead = dead,
    };
    *out = &endpoint->transport;
    return 0;
}

uint64_t co_loopback_now_ns(const struct co_loopback_hub *hub)
{
    return hub->now_ns;
}

uint64_t co_loopback_next_ns(const struct co_loopback_hub *hub)
{
    uint64_t next_ns = hub->flights.count > 0 ? hub->flights.heap[0].arrival_ns : 0;
    for (int i = 0; i < hub->config.endpoints; i++) {
        const struct endpoint *endpoint = &hub->endpoints[i];
        uint64_t room_ns = endpoint->open ? egress_room_ns(endpoint) : 0;
        if (room_ns && (next_ns == 0 || room_ns < next_ns)) {
            next_ns = room_ns;
        }
    }
    return next_ns;
}

void co_loopback_kill(struct co_loopback_hub *hub, int rank)
{
    assert(rank >= 0 && rank < hub->config.endpoints);
    endpoint_stop(&hub->endpoints[rank]);
}
