// SPDX-License-Identifier: BSD-3-Clause
//
// Private to the loopback transport: its structs, shared by loopback.c (hub, clock, endpoints), loopback_send.c (what
// leaves), loopback_flights.c (what is on its way), loopback_switch.c (to whom it goes), loopback_queue.c (what has
// arrived), loopback_regions.c and loopback_reads.c (the manners of verbs).
#ifndef CASTOFF_TRANSPORT_LOOPBACK_STATE_H
#define CASTOFF_TRANSPORT_LOOPBACK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/loopback/loopback.h"
#include "transport/loopback/loopback_flights.h"
#include "transport/reads.h"

#define CO_LOOPBACK_GROUPS 16

#define CO_LOOPBACK_READS 32 // of an endpoint, under way

struct co_loopback_read {
    uint64_t number, due_ns; // number 0: free
    uint64_t address;
    uint32_t key, bytes;
    int peer;
    struct co_loopback_parcel *parcel; // with a hole for what is read
};

// Of an endpoint.
struct co_loopback_reads {
    struct co_reads reads; // first: ops get a pointer to it
    struct co_loopback_endpoint *endpoint;
    struct co_loan *loans;
    unsigned loan_count;
    uint64_t failed; // bit for each peer: no connection any more
    uint64_t started;
    struct co_loopback_read under_way[CO_LOOPBACK_READS];
};

// Of peers; `count` of them are noted.
struct co_loopback_notes {
    bool *noted;
    int count;
};

struct co_loopback_endpoint {
    struct co_transport transport; // first: ops get a pointer to it
    struct co_loopback_hub *hub;
    int rank;
    unsigned joined;                // bit for each group
    const struct co_lander *lander; // NULL: nobody expects anything
    bool open, gone, is_broken;
    uint64_t egress_free_ns; // when everything accepted so far has left
    uint64_t latest_arrival_ns;
    uint64_t port_free_ns;             // likewise, of the switch's port
    uint64_t port_bytes_per_s;         // its rate; 0: infinite
    size_t refused_bytes;              // size of the datagram that found no room, 0: none
    bool is_held_back;                 // it is among the hub's
    struct co_loopback_parcel **queue; // ring of what has arrived
    size_t queue_room, queue_first, queue_count, queue_bytes;
    uint64_t taken; // out of it
    struct co_region *regions;
    unsigned region_count;
    struct co_loopback_parcel *unsent_first, *unsent_last; // in the order in which they leave; like verbs only
    unsigned unsent_count;
    bool is_awaited;                  // somebody waits for the first of them to leave
    struct co_loopback_notes refused; // peers: something sent to them was, which refused_peer has yet to tell
    struct co_loopback_reads reads;
    bool host_is_silent;
    struct co_loopback_notes hosts; // peers: asked, and answered at once
};

struct co_loopback_hub {
    struct co_loopback_config config;
    uint64_t now_ns, next_order;
    struct co_loopback_endpoint *endpoints;
    int *held_back; // endpoints that have been refused room since time went on last, or wait for it
    int held_back_count;
    struct co_loopback_flights flights;
    struct co_loopback_payloads payloads;
    uint64_t overflows;
    struct co_loopback_read_counts read_counts;
    bool damages_reads;
};

// loopback_queue.c. A full queue, or no memory for a longer one, loses the parcel as a socket would.
void co_loopback_queue_push(struct co_loopback_endpoint *endpoint, struct co_loopback_parcel *parcel);
struct co_loopback_parcel *co_loopback_queue_pop(struct co_loopback_endpoint *endpoint); // not of an empty one
static inline struct co_loopback_parcel *co_loopback_queue_at(const struct co_loopback_endpoint *endpoint, size_t index)
{
    return endpoint->queue[(endpoint->queue_first + index) % endpoint->queue_room];
}
void co_loopback_queue_clear(struct co_loopback_endpoint *endpoint);

static inline void co_loopback_note(struct co_loopback_notes *notes, int peer)
{
    notes->count += !notes->noted[peer];
    notes->noted[peer] = true;
}

// loopback_send.c
size_t co_loopback_backlog_bytes(const struct co_loopback_hub *hub, uint64_t free_ns, uint64_t bytes_per_s);
uint64_t co_loopback_wire_ns(uint64_t bytes_per_s, size_t bytes);
// When a link that is free from free_ns on, of this rate, may begin with the next datagram: in the past, as far as it
// has tokens.
uint64_t co_loopback_start_ns(const struct co_loopback_hub *hub, uint64_t free_ns, uint64_t bytes_per_s);
int co_loopback_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                     unsigned count);
// When a refused datagram will fit, 0: none was refused or it fits now.
uint64_t co_loopback_room_ns(const struct co_loopback_endpoint *endpoint);

// loopback_reads.c
void co_loopback_reads_open(struct co_loopback_endpoint *endpoint);
void co_loopback_reads_end(struct co_loopback_endpoint *endpoint);               // those whose time has come
void co_loopback_reads_stop(struct co_loopback_endpoint *endpoint);              // all; its memory is lent no more
uint64_t co_loopback_reads_next_ns(const struct co_loopback_endpoint *endpoint); // 0: none is under way

// loopback_regions.c
int co_loopback_region_open(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                            bool may_write);
bool co_loopback_region_is_busy(const struct co_transport *transport, const struct co_region *region);
void co_loopback_region_close(struct co_transport *transport, struct co_region *region);
// The payload stands in its region, and that is open here.
bool co_loopback_region_holds(const struct co_loopback_endpoint *endpoint, const struct co_tx_datagram *datagram);
void co_loopback_unsent_add(struct co_loopback_endpoint *endpoint, struct co_loopback_parcel *parcel);
void co_loopback_unsent_leave(struct co_loopback_endpoint *endpoint); // those whose time has come
void co_loopback_unsent_lose(struct co_loopback_endpoint *endpoint);  // all

#endif
