// SPDX-License-Identifier: BSD-3-Clause
//
// How a proxy's records reach the others: a table of functions over two connections to each of them. What was sent on
// one connection arrives in order, whole, and once, or the peer is lost; between the two there is no order, and control
// never waits behind bulk. Contract: tests/unit/offload/carrier_contract.c. The proxy's one thread; hot; nothing here
// waits. What arrives is handed to the core by whoever owns both (co_proxy_take, co_proxy_peer_lost).
#ifndef CASTOFF_OFFLOAD_CARRIER_H
#define CASTOFF_OFFLOAD_CARRIER_H

#include <stdbool.h>
#include <stddef.h>

struct co_carrier;

enum co_carrier_connection { CO_CARRIER_CONTROL, CO_CARRIER_BULK, CO_CARRIER_CONNECTIONS };

struct co_carrier_ops {
    const char *name;

    // Takes a copy of a control record. It has always room: a proxy says at most two words of an end, and of ends of
    // which the peer has said nothing a rank has at most twice ends_max, under way and failed. To a peer that is lost
    // it does nothing.
    void (*control)(struct co_carrier *carrier, int peer, const void *record, size_t bytes);

    // Whether the next bulk record to that peer would be taken. Once false, it becomes true without being asked again
    // and again: the owner then calls co_proxy_progress.
    bool (*has_room)(struct co_carrier *carrier, int peer);

    // Takes a copy of a bulk record; only after has_room has said true. When it returns, the bytes are on their way
    // whatever becomes of the rank that they are of.
    void (*bulk)(struct co_carrier *carrier, int peer, const void *record, size_t bytes);
};

// An implementation has it as its first member.
struct co_carrier {
    const struct co_carrier_ops *ops;
};

#endif
