// SPDX-License-Identifier: BSD-3-Clause
//
// Who has connected to a proxy and has not shown the key yet: the listener, and a bounded table behind it. A stranger
// holds one place for a while, and the oldest has to go when others come; nobody is waited for. Private to the carrier;
// one thread; cold.
#ifndef CASTOFF_OFFLOAD_CARRIER_TCP_STRANGERS_H
#define CASTOFF_OFFLOAD_CARRIER_TCP_STRANGERS_H

#include "offload/carrier/tcp_connection.h"

struct co_carrier_stranger {
    uint64_t number; // in the order in which they came
    uint64_t since_ns;
    struct co_carrier_tcp_connection connection; // AWAY: the place is free
};

struct co_carrier_strangers {
    int listener, epoll;
    uint64_t deaf_until_ns; // nobody is let in: there was no descriptor for the last one; 0: no
    uint64_t arrivals, silent, refused;
    unsigned room, count;
    struct co_carrier_stranger *places;
};

// The listener is then the table's, and watched by the number `first_id`; strangers by those behind it. -errno: the
// listener is closed.
int co_carrier_strangers_open(struct co_carrier_strangers *strangers, int listener, int epoll, uint64_t first_id,
                              unsigned room);
void co_carrier_strangers_close(struct co_carrier_strangers *strangers); // once more is allowed

// Lets in who stands at the door, some at a time.
void co_carrier_strangers_accept(struct co_carrier_strangers *strangers, uint64_t now_ns);
// One of them has said something, or gone. 1: it has shown the key; socket and handshake are its connection's. 0: go
// on; -EPROTONOSUPPORT, -EINVAL: it has the key and cannot be talked to, *peer says who, `why` as in
// carrier_handshake.h.
int co_carrier_strangers_hear(struct co_carrier_strangers *strangers, unsigned place,
                              const struct co_carrier_identity *identity, int *peer, const char **why);
// Its place is free, and its socket somebody else's or closed.
void co_carrier_strangers_release(struct co_carrier_strangers *strangers, unsigned place);

// Sends those away who have been here too long. Returns when it has to be called next, UINT64_MAX: need not be.
uint64_t co_carrier_strangers_expire(struct co_carrier_strangers *strangers, uint64_t now_ns);

#endif
