// SPDX-License-Identifier: BSD-3-Clause
//
// A job of N endpoints on the loopback hub in virtual time, with seeded faults, for the protocol tests. Nothing here
// sleeps: the clock jumps from event to event, and a run that needs more virtual time than allowed fails the test.
#ifndef CASTOFF_TESTS_MCAST_WORLD_H
#define CASTOFF_TESTS_MCAST_WORLD_H

#include <stdbool.h>

#include "mcast/mcast.h"
#include "pattern.h"
#include "transport/loopback/loopback.h"
#include "transport/fault/lossy.h"

#define WORLD_MAX 4096

struct world_options {
    int members;
    const char *faults; // CASTOFF_FAULT text or NULL
    size_t chunk_bytes, window_bytes, shared_window_bytes, staging_bytes, eager_bytes, collect_bytes;
    unsigned chains, subgroups, ack_radix;
    enum co_auth_form form;
    uint64_t bytes_per_s, latency_ns, jitter_ns;
    size_t egress_queue_bytes;
    bool egress_drops;
    uint64_t port_bytes_per_s; // 0: no ports
    size_t port_queue_bytes;
    size_t burst_bytes; // of the buckets of tokens of links and ports
    size_t ingress_queue_bytes;
    bool like_verbs;      // the transport has the manners of verbs
    unsigned regions_max; // then: of an endpoint, 0: unbounded
    bool has_reads;       // then: of neighbours' memory
    unsigned loans_max;   // then: of an endpoint, 0: unbounded
    size_t read_bytes;
};

// Whether world_defaults has like_verbs: the same tests serve both.
extern bool world_is_like_verbs;

struct world {
    struct world_options options;
    struct co_loopback_hub *hub;
    struct co_auth *auth[WORLD_MAX];
    struct co_transport *transport[WORLD_MAX];
    struct co_mcast *mcast[WORLD_MAX];
    struct co_mcast_group *group[WORLD_MAX];
};

struct world_options world_defaults(int members);
void world_open(struct world *world, const struct world_options *options);
void world_close(struct world *world);

// Seed and group at once, or neither.
int world_group_open(struct co_mcast_group **out, struct co_mcast *mcast, uint64_t id, const int *members,
                     const int *units, int count, int self);

// Moves everything by one event; false when nothing can ever happen any more.
bool world_turn(struct world *world);
// Until every op (of those not NULL) has ended, or the virtual limit has passed: then the test fails.
void world_run(struct world *world, struct co_mcast_op **ops, int count, uint64_t limit_ns);
// Until all endpoints are idle.
void world_settle(struct world *world, uint64_t limit_ns);

// One Bcast or Allgather over all members, checked byte for byte.
void world_bcast(struct world *world, int root, size_t bytes, unsigned seed);
void world_allgather(struct world *world, size_t bytes, unsigned seed);

#endif
