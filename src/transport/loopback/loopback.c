// SPDX-License-Identifier: BSD-3-Clause
//
// The in-process transport: a hub with a virtual clock, the datagrams in flight, and one receive queue for
// each endpoint. Used by unit tests and fuzz targets only, by one thread; nothing here sleeps or reads a clock.
#include "transport/loopback/loopback.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "transport/loopback/loopback_state.h"

#define AT_ONCE 16 // datagrams that are delivered together

static int loopback_land(struct co_transport *transport, const struct co_lander *lander)
{
    ((struct co_loopback_endpoint *)transport)->lander = lander;
    return 0;
}

static struct co_arrival arrival_of(const struct co_loopback_endpoint *endpoint,
                                    const struct co_loopback_parcel *parcel)
{
    return (struct co_arrival){.data = parcel->data,
                               .bytes = parcel->bytes,
                               .immediate = endpoint->transport.has_immediate ? parcel->immediate : 0};
}

// The payload to its place; what is left of the datagram, for others get the parcel, too.
static uint8_t *land_one(const struct co_loopback_parcel *parcel, const struct co_landing *landing, uint32_t place)
{
    size_t done = (size_t)place * landing->payload_bytes, left = landing->bytes - done;
    size_t full = left < landing->payload_bytes ? left : landing->payload_bytes;
    uint8_t *rest = malloc(parcel->bytes);
    assert(rest != NULL && parcel->bytes - landing->head_bytes - landing->tail_bytes == full);
    memcpy(landing->at + done, parcel->data + landing->head_bytes, full);
    memcpy(rest, parcel->data, parcel->bytes);
    memset(rest + landing->head_bytes, 0xa5, full);
    return rest;
}

// The worst that the contract allows: every datagram is written to where the next one goes, and what lands is nowhere
// else. Returns how many have landed.
static unsigned land(struct co_loopback_endpoint *endpoint, unsigned budget, void *arg)
{
    const struct co_lander *lander = endpoint->lander;
    struct co_landing landing;
    struct co_arrival arrivals[AT_ONCE];
    unsigned landed = 0, most = budget < AT_ONCE ? budget : AT_ONCE;
    if (lander == NULL || !lander->expects(arg, 0, &landing)) {
        return 0;
    }
    uint32_t places = (uint32_t)((landing.bytes + landing.payload_bytes - 1) / landing.payload_bytes);
    for (; landed < most && landed < endpoint->queue_count && landed < places; landed++) {
        const struct co_loopback_parcel *parcel = co_loopback_queue_at(endpoint, landed);
        if (parcel->bytes <= landing.head_bytes + landing.tail_bytes ||
            !lander->is_expected(arg, parcel->data, parcel->bytes, landed)) {
            break;
        }
        arrivals[landed] = (struct co_arrival){.bytes = parcel->bytes, .immediate = landed};
    }
    size_t written = landed == 0 ? co_loopback_queue_at(endpoint, 0)->bytes
                                 : (size_t)landed * landing.payload_bytes + landing.head_bytes + landing.tail_bytes;
    memset(landing.at, 0xa5, landing.bytes < written ? landing.bytes : written);
    for (unsigned i = 0; i < landed; i++) {
        struct co_loopback_parcel *parcel = co_loopback_queue_pop(endpoint);
        arrivals[i].data = land_one(parcel, &landing, i);
        co_loopback_parcel_drop(parcel);
    }
    if (landed > 0) {
        lander->deliver(arg, arrivals, landed);
    }
    for (unsigned i = 0; i < landed; i++) {
        free((void *)arrivals[i].data);
    }
    return landed;
}

// Of what has landed nobody may have known; so where anything may, all else comes one by one. There is a datagram and
// room for it: nobody is given an empty delivery.
static unsigned hand_over(struct co_loopback_endpoint *endpoint, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct co_loopback_parcel *parcels[AT_ONCE];
    struct co_arrival arrivals[AT_ONCE];
    unsigned count = 0, most = endpoint->lander != NULL ? 1 : budget < AT_ONCE ? budget : AT_ONCE;
    do {
        parcels[count] = co_loopback_queue_pop(endpoint);
        arrivals[count] = arrival_of(endpoint, parcels[count]);
    } while (++count < most && endpoint->queue_count > 0);
    deliver(arg, arrivals, count);
    for (unsigned i = 0; i < count; i++) {
        co_loopback_parcel_drop(parcels[i]);
    }
    return count;
}

static int loopback_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct co_loopback_endpoint *endpoint = (struct co_loopback_endpoint *)transport;
    unsigned done = 0;
    if (endpoint->is_broken) {
        return -EIO;
    }
    while (done < budget && endpoint->queue_count > 0) {
        unsigned landed = land(endpoint, budget - done, arg);
        done += landed > 0 ? landed : hand_over(endpoint, budget - done, deliver, arg);
    }
    return (int)done;
}

// What arrives without delay is there when this returns.
static int loopback_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                         unsigned count)
{
    struct co_loopback_hub *hub = ((struct co_loopback_endpoint *)transport)->hub;
    int accepted = co_loopback_send(transport, to, batch, count);
    co_loopback_advance(hub, hub->now_ns);
    return accepted;
}

static int loopback_join(struct co_transport *transport, unsigned index)
{
    if (index >= CO_LOOPBACK_GROUPS) {
        return -EINVAL;
    }
    ((struct co_loopback_endpoint *)transport)->joined |= 1U << index;
    return 0;
}

static void loopback_leave(struct co_transport *transport, unsigned index)
{
    if (index < CO_LOOPBACK_GROUPS) {
        ((struct co_loopback_endpoint *)transport)->joined &= ~(1U << index);
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
    const struct co_loopback_endpoint *endpoint = (struct co_loopback_endpoint *)transport;
    return endpoint->queue_count > 0 ? endpoint->hub->now_ns : co_loopback_next_ns(endpoint->hub);
}

static int loopback_dead_peer(struct co_transport *transport)
{
    (void)transport; // it refuses nothing by itself
    return -1;
}

static int tell_first(struct co_loopback_notes *notes)
{
    for (int rank = 0; notes->count > 0; rank++) {
        if (notes->noted[rank]) {
            notes->noted[rank] = false;
            notes->count--;
            return rank;
        }
    }
    return -1;
}

static int loopback_refused_peer(struct co_transport *transport)
{
    return tell_first(&((struct co_loopback_endpoint *)transport)->refused);
}

static int loopback_host_ask(struct co_transport *transport, int rank)
{
    struct co_loopback_endpoint *endpoint = (struct co_loopback_endpoint *)transport;
    struct co_loopback_hub *hub = endpoint->hub;
    if (rank < 0 || rank >= hub->config.endpoints) {
        return -EINVAL;
    }
    if (!hub->endpoints[rank].host_is_silent) {
        co_loopback_note(&endpoint->hosts, rank);
    }
    return 1;
}

static int loopback_host_told(struct co_transport *transport)
{
    return tell_first(&((struct co_loopback_endpoint *)transport)->hosts);
}

static void endpoint_stop(struct co_loopback_endpoint *endpoint)
{
    endpoint->open = false;
    endpoint->gone = true;
    endpoint->joined = 0;
    co_loopback_reads_stop(endpoint);
    co_loopback_unsent_lose(endpoint);
    co_loopback_queue_clear(endpoint);
    endpoint->queue_first = endpoint->queue_bytes = 0;
}

static void loopback_close(struct co_transport *transport)
{
    struct co_loopback_endpoint *endpoint = (struct co_loopback_endpoint *)transport;
    assert(endpoint->regions == NULL && endpoint->reads.loan_count == 0);
    endpoint_stop(endpoint);
    free(endpoint->refused.noted);
    free(endpoint->hosts.noted);
    endpoint->refused = endpoint->hosts = (struct co_loopback_notes){NULL, 0};
}

static const struct co_transport_ops loopback_ops = {
    .name = "loopback",
    .join = loopback_join,
    .leave = loopback_leave,
    .send = loopback_send,
    .poll = loopback_poll,
    .land = loopback_land,
    .descriptors = loopback_descriptors,
    .next_event_ns = loopback_next_event_ns,
    .dead_peer = loopback_dead_peer,
    .refused_peer = loopback_refused_peer,
    .host_ask = loopback_host_ask,
    .host_told = loopback_host_told,
    .close = loopback_close,
};

static const struct co_transport_ops verbs_ops = {
    .name = "loopback like verbs",
    .join = loopback_join,
    .leave = loopback_leave,
    .send = loopback_send,
    .region_open = co_loopback_region_open,
    .region_is_busy = co_loopback_region_is_busy,
    .region_close = co_loopback_region_close,
    .poll = loopback_poll,
    .descriptors = loopback_descriptors,
    .next_event_ns = loopback_next_event_ns,
    .dead_peer = loopback_dead_peer,
    .refused_peer = loopback_refused_peer,
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
    hub->held_back = calloc((size_t)config->endpoints, sizeof *hub->held_back);
    if (!hub->endpoints || !hub->held_back) {
        free(hub->endpoints);
        free(hub->held_back);
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
    free(hub->held_back);
    free(hub);
}

int co_loopback_endpoint_open(struct co_transport **out, struct co_loopback_hub *hub, int rank)
{
    if (rank < 0 || rank >= hub->config.endpoints || hub->endpoints[rank].refused.noted) {
        return -EINVAL;
    }
    struct co_loopback_endpoint *endpoint = &hub->endpoints[rank];
    size_t count = (size_t)hub->config.endpoints;
    bool *refused = calloc(count, sizeof *refused);
    bool *hosts = calloc(count, sizeof *hosts);
    if (!refused || !hosts) {
        free(refused);
        free(hosts);
        return -ENOMEM;
    }
    bool like_verbs = hub->config.like_verbs;
    *endpoint = (struct co_loopback_endpoint){
        .transport = {.ops = like_verbs ? &verbs_ops : &loopback_ops,
                      .max_datagram_bytes = hub->config.max_datagram_bytes,
                      .max_batch = like_verbs ? CO_LOOPBACK_BATCH : 64,
                      .has_immediate = like_verbs,
                      .receive_buffer_bytes = hub->config.ingress_queue_bytes},
        .hub = hub,
        .rank = rank,
        .port_bytes_per_s = hub->config.port_bytes_per_s,
        .open = true,
        .is_held_back = endpoint->is_held_back,
        .refused = {.noted = refused},
        .hosts = {.noted = hosts},
    };
    if (like_verbs && hub->config.has_reads) {
        co_loopback_reads_open(endpoint);
    }
    *out = &endpoint->transport;
    return 0;
}

uint64_t co_loopback_now_ns(const struct co_loopback_hub *hub)
{
    return hub->now_ns;
}

struct co_loopback_payloads co_loopback_payloads(const struct co_loopback_hub *hub)
{
    return hub->payloads;
}

uint64_t co_loopback_taken(const struct co_loopback_hub *hub, int rank)
{
    return hub->endpoints[rank].taken;
}

uint64_t co_loopback_overflows(const struct co_loopback_hub *hub)
{
    return hub->overflows;
}

// Of two times, of which 0 is none.
static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns == 0 || (b_ns != 0 && b_ns < a_ns) ? b_ns : a_ns;
}

uint64_t co_loopback_next_ns(const struct co_loopback_hub *hub)
{
    uint64_t next_ns = hub->flights.count > 0 ? hub->flights.heap[0].arrival_ns : 0;
    for (int i = 0; i < hub->held_back_count; i++) {
        const struct co_loopback_endpoint *endpoint = &hub->endpoints[hub->held_back[i]];
        next_ns = earlier(next_ns, endpoint->open ? co_loopback_room_ns(endpoint) : 0);
    }
    for (int i = 0; i < hub->config.endpoints && hub->config.like_verbs; i++) {
        const struct co_loopback_endpoint *endpoint = &hub->endpoints[i];
        uint64_t leaves_ns = endpoint->is_awaited && endpoint->unsent_count > 0 ? endpoint->unsent_first->leaves_ns : 0;
        next_ns = earlier(next_ns, earlier(leaves_ns, co_loopback_reads_next_ns(endpoint)));
    }
    return next_ns;
}

void co_loopback_kill(struct co_loopback_hub *hub, int rank)
{
    assert(rank >= 0 && rank < hub->config.endpoints);
    endpoint_stop(&hub->endpoints[rank]);
}

void co_loopback_silence_host(struct co_loopback_hub *hub, int rank)
{
    assert(rank >= 0 && rank < hub->config.endpoints);
    hub->endpoints[rank].host_is_silent = true;
}
