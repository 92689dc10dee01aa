// SPDX-License-Identifier: BSD-3-Clause
//
// The coordinator without its sockets: who is connected, the groups, and the rules that hops have for them. Messages of
// clients go in, messages to clients come out. A rule is taken for gone only when its hop has said so, or has been out
// of touch for so long that its lease has ended; until then whoever closes is not answered, so that a buffer is never
// given back while something might still be written into it. Pure but for random numbers; time is an argument. One
// thread; cold.
#ifndef CASTOFF_ONESIDED_COORDINATOR_H
#define CASTOFF_ONESIDED_COORDINATOR_H

#include "onesided/control_wire.h"

#define CO_COORDINATOR_CLIENTS 4096 // connections: more than the ends and hops of the largest group
#define CO_COORDINATOR_GROUPS 256
#define CO_COORDINATOR_HOPS 1024 // in NIC mode one for each member
#define CO_COORDINATOR_PORT "4793"
#define CO_COORDINATOR_MARGIN_NS UINT64_C(250000000) // after a lease: hops look at the clock every 50 ms

struct co_coordinator_config {
    uint32_t first_ip;    // group addresses: from here on,
    unsigned addresses;   // so many
    uint64_t lease_ns;    // after so much silence a hop has no rules any more
    uint64_t patience_ns; // for a member to answer SETUP, for a hop to answer, for anybody to log in
};

struct co_coordinator_output {
    void *context;
    void (*say)(void *context, unsigned client, struct co_coordination_message *message);
    void (*drop)(void *context,
                 unsigned client); // close the connection; co_coordinator_left is not to be called for it
    void (*log)(void *context, const char *line);
};

struct co_coordinator;

int co_coordinator_open(struct co_coordinator **out, const struct co_coordinator_config *config,
                        const struct co_coordinator_output *output); // -EINVAL, -ENOMEM
void co_coordinator_close(struct co_coordinator *coordinator);

// A client is a number below CO_COORDINATOR_CLIENTS. `place` is for logs.
void co_coordinator_joined(struct co_coordinator *coordinator, unsigned client, const char *place, uint64_t now_ns);
// The message may be changed.
void co_coordinator_heard(struct co_coordinator *coordinator, unsigned client, struct co_coordination_message *message,
                          uint64_t now_ns);
void co_coordinator_left(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns);
// Deadlines; every 100 ms or so.
void co_coordinator_tick(struct co_coordinator *coordinator, uint64_t now_ns);

// A line about who has not shown the secret; not each, if there are many.
void co_coordinator_stranger_log(struct co_coordinator *coordinator, const char *place, const char *text,
                                 uint64_t now_ns);

// What `castoff coordinator status` prints, in messages of kind STATUS_TEXT.
void co_coordinator_status(struct co_coordinator *coordinator, unsigned client, uint64_t now_ns);

unsigned co_coordinator_groups(const struct co_coordinator *coordinator);

#endif
