// SPDX-License-Identifier: BSD-3-Clause
//
// The manners of verbs on the loopback transport: memory that a sender has told of, from which payload leaves only when
// its turn on the link has come, and a send queue of few places that are free again once it has. Who takes his memory
// back too early, or never, shows here. One thread, tests only.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/loopback/loopback_state.h"

struct co_region {
    struct co_region *next;
    const uint8_t *start;
    size_t bytes;
};

// What cannot be written to faults here, as it would not let itself be registered.
static void touch(const void *start, size_t bytes)
{
    volatile uint8_t *first = (volatile uint8_t *)(uintptr_t)start, *last = first + bytes - 1;
    *first = *first;
    *last = *last;
}

int co_loopback_region_open(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                            bool may_write)
{
    struct co_loopback_endpoint *endpoint = (struct co_loopback_endpoint *)transport;
    unsigned most = endpoint->hub->config.regions_max;
    if (bytes < CO_LOOPBACK_REGION_LEAST) {
        return -ENOTSUP;
    }
    if (most > 0 && endpoint->region_count == most) {
        return -ENOMEM;
    }
    struct co_region *region = malloc(sizeof *region);
    if (!region) {
        return -ENOMEM;
    }
    if (may_write) {
        touch(start, bytes);
    }
    *region = (struct co_region){.next = endpoint->regions, .start = start, .bytes = bytes};
    endpoint->regions = region;
    endpoint->region_count++;
    *out = region;
    return 0;
}

bool co_loopback_region_is_busy(const struct co_transport *transport, const struct co_region *region)
{
    const struct co_loopback_endpoint *self = (const struct co_loopback_endpoint *)transport;
    struct co_loopback_endpoint *endpoint = &self->hub->endpoints[self->rank];
    const struct co_loopback_parcel *parcel = endpoint->unsent_first;
    while (parcel && parcel->region != region) {
        parcel = parcel->next_unsent;
    }
    endpoint->is_awaited = endpoint->is_awaited || parcel;
    return parcel != NULL;
}

void co_loopback_region_close(struct co_transport *transport, struct co_region *region)
{
    struct co_loopback_endpoint *endpoint = (struct co_loopback_endpoint *)transport;
    for (struct co_loopback_parcel *parcel = endpoint->unsent_first; parcel; parcel = parcel->next_unsent) {
        if (parcel->region == region) {
            parcel->region = NULL;
            parcel->is_lost = endpoint->is_broken = true; // as a queue pair whose memory is taken away
        }
    }
    struct co_region **link = &endpoint->regions;
    while (*link != region) {
        link = &(*link)->next; // not ours: a fault, which is what the caller has earned
    }
    *link = region->next;
    endpoint->region_count--;
    free(region);
}

bool co_loopback_region_holds(const struct co_loopback_endpoint *endpoint, const struct co_tx_datagram *datagram)
{
    for (const struct co_region *region = endpoint->regions; region; region = region->next) {
        size_t at = (uintptr_t)datagram->payload - (uintptr_t)region->start;
        if (region == datagram->region) {
            return at <= region->bytes && datagram->payload_bytes <= region->bytes - at;
        }
    }
    return false;
}

void co_loopback_unsent_add(struct co_loopback_endpoint *endpoint, struct co_loopback_parcel *parcel)
{
    if (endpoint->unsent_count++ == 0) {
        endpoint->unsent_first = parcel;
    } else {
        endpoint->unsent_last->next_unsent = parcel;
    }
    endpoint->unsent_last = parcel;
    *(parcel->region ? &endpoint->hub->payloads.from_regions : &endpoint->hub->payloads.copied) +=
        parcel->payload_bytes > 0;
}

static void take_first(struct co_loopback_endpoint *endpoint)
{
    struct co_loopback_parcel *parcel = endpoint->unsent_first;
    endpoint->unsent_first = parcel->next_unsent;
    endpoint->unsent_count--;
    parcel->next_unsent = NULL;
    parcel->region = NULL;
}

void co_loopback_unsent_leave(struct co_loopback_endpoint *endpoint)
{
    while (endpoint->unsent_count > 0 && endpoint->unsent_first->leaves_ns <= endpoint->hub->now_ns) {
        struct co_loopback_parcel *parcel = endpoint->unsent_first;
        if (parcel->region) {
            memcpy(parcel->data + parcel->payload_at, parcel->payload, parcel->payload_bytes);
        }
        take_first(endpoint);
        endpoint->is_awaited = false; // who still waits asks again
    }
}

void co_loopback_unsent_lose(struct co_loopback_endpoint *endpoint)
{
    while (endpoint->unsent_count > 0) {
        endpoint->unsent_first->is_lost = true;
        take_first(endpoint);
    }
}
