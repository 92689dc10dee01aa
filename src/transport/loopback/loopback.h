// SPDX-License-Identifier: BSD-3-Clause
//
// In-process transport with virtual time for tests: a hub joins N endpoints by links of given latency and rate.
// Nothing moves unless the test advances the clock. One thread.
#ifndef CASTOFF_TRANSPORT_LOOPBACK_H
#define CASTOFF_TRANSPORT_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

#define CO_LOOPBACK_BATCH 8
#define CO_LOOPBACK_SLOTS 64
#define CO_LOOPBACK_REGION_LEAST 256 // bytes: below, a copy is cheaper

struct co_loopback_hub;

struct co_loopback_config {
    int endpoints;
    size_t max_datagram_bytes;
    uint64_t latency_ns;
    uint64_t jitter_ns;         // more than that, at random
    uint64_t bytes_per_s;       // egress rate of each endpoint; 0: infinite
    size_t egress_queue_bytes;  // send refuses (back-pressure) beyond it; 0: unbounded
    bool egress_drops;          // instead of refusing, and nobody is told
    uint64_t port_bytes_per_s;  // rate of the switch's port before each endpoint; 0: infinite
    size_t port_queue_bytes;    // what waits there is dropped beyond it; 0: unbounded
    size_t burst_bytes;         // that links and ports let through at once when they have been idle: buckets of tokens
    size_t ingress_queue_bytes; // arriving datagrams are dropped beyond it; 0: unbounded
    // Carries immediates; knows regions, from which payload is read when it leaves and no sooner; takes
    // CO_LOOPBACK_BATCH datagrams at once and holds CO_LOOPBACK_SLOTS that have yet to leave.
    bool like_verbs;
    unsigned regions_max; // of an endpoint; 0: unbounded
    bool has_reads;       // all are neighbours of all (reads.h), 64 endpoints at most; only like verbs
    unsigned loans_max;   // of an endpoint; 0: unbounded
};

struct co_loopback_read_counts {
    uint64_t done;
    uint64_t refused; // by memory that was lent no more: then the connection has failed
};

// Datagrams with a payload that were taken, by where it stood. Only like verbs.
struct co_loopback_payloads {
    uint64_t from_regions, copied;
};

int co_loopback_hub_open(struct co_loopback_hub **out, const struct co_loopback_config *config);
void co_loopback_hub_close(struct co_loopback_hub *hub); // after its endpoints

// Endpoint of world rank `rank`; close it through its ops.
int co_loopback_endpoint_open(struct co_transport **out, struct co_loopback_hub *hub, int rank);

// Datagrams that a queue before a link had no room for.
uint64_t co_loopback_overflows(const struct co_loopback_hub *hub);
uint64_t co_loopback_taken(const struct co_loopback_hub *hub, int rank); // datagrams, by the endpoint's poll
struct co_loopback_payloads co_loopback_payloads(const struct co_loopback_hub *hub);
struct co_loopback_read_counts co_loopback_read_counts(const struct co_loopback_hub *hub);
// Reads that are under way between the two fail, and so do all later ones.
void co_loopback_cut_reads(struct co_loopback_hub *hub, int rank, int peer);
void co_loopback_damage_reads(struct co_loopback_hub *hub); // from now on each brings a wrong byte
uint64_t co_loopback_now_ns(const struct co_loopback_hub *hub);
// Moves the clock; datagrams whose time has come become visible to poll.
void co_loopback_advance(struct co_loopback_hub *hub, uint64_t to_ns);
// When the next datagram in flight arrives or a send queue drains, 0: nothing in flight.
uint64_t co_loopback_next_ns(const struct co_loopback_hub *hub);
// The endpoint stops existing: what is sent to it vanishes and its peers may learn of it by refused_peer.
void co_loopback_kill(struct co_loopback_hub *hub, int rank);
// The switch's port before the endpoint, from now on; 0: infinite.
void co_loopback_set_port(struct co_loopback_hub *hub, int rank, uint64_t bytes_per_s);
// Somebody, with or without reason, tells `rank` that the port of `peer` is unreachable.
void co_loopback_refuse(struct co_loopback_hub *hub, int rank, int peer);
// From now on the endpoint's host answers no host_ask (unlike verbs only); its datagrams are the test's matter.
void co_loopback_silence_host(struct co_loopback_hub *hub, int rank);

#endif
