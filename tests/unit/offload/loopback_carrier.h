// SPDX-License-Identifier: BSD-3-Clause
//
// Carriers between proxies of one process: the reference for carriers, and what the simulation of proxies runs on. Each
// direction of each connection is a queue, and the test says which one delivers next. One thread.
#ifndef CASTOFF_TESTS_OFFLOAD_LOOPBACK_CARRIER_H
#define CASTOFF_TESTS_OFFLOAD_LOOPBACK_CARRIER_H

#include <stdint.h>

#include "offload/carrier.h"

#define LOOPBACK_PROXIES 6

struct loopback_record;

struct loopback_queue {
    struct loopback_record *oldest, **newest;
    unsigned count;
};

struct loopback_end {
    struct co_carrier carrier; // the first
    struct loopback_hub *hub;
    int self;
    bool is_dead; // hears and says nothing
};

struct loopback_hub {
    int proxies;
    unsigned bulk_room; // records that a bulk connection holds
    uint64_t records;   // that were sent
    struct loopback_end ends[LOOPBACK_PROXIES];
    struct loopback_queue queues[LOOPBACK_PROXIES][LOOPBACK_PROXIES][CO_CARRIER_CONNECTIONS]; // from, to
};

void loopback_open(struct loopback_hub *hub, int proxies, unsigned bulk_room);
void loopback_close(struct loopback_hub *hub);

unsigned loopback_waiting(const struct loopback_hub *hub, int from, int to, enum co_carrier_connection connection);
// The oldest record, which is then gone. False: there is none.
bool loopback_deliver(struct loopback_hub *hub, int from, int to, enum co_carrier_connection connection, void *context,
                      void (*hear)(void *context, int from, int to, enum co_carrier_connection connection,
                                   const uint8_t *record, size_t bytes));
// Nothing comes from it any more, and nothing that is on its way to it.
void loopback_kill(struct loopback_hub *hub, int proxy);

#endif
