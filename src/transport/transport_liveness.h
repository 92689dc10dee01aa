// SPDX-License-Identifier: BSD-3-Clause
//
// Signs of life beside a transport that has none: datagrams of verbs tell nothing of a process that has ended. Whoever
// is sent to gets a byte by another transport (UDP), too, now and then, whose host refuses it where nobody listens any
// more; and hosts are asked by that one. When the transport breaks, what is for a single peer goes by the other one as
// far as it fits, so that the last words arrive, and after hang_up this process is one that nobody listens in. Calls as
// transport.h says, without lanes.
#ifndef CASTOFF_TRANSPORT_LIVENESS_H
#define CASTOFF_TRANSPORT_LIVENESS_H

#include <stdint.h>

#include "transport/transport.h"

#define CO_TRANSPORT_LIVENESS_EVERY_NS UINT64_C(100000000) // least time between two bytes to a peer
#define CO_TRANSPORT_LIVENESS_POLLS 64                     // of the transport for one of the other, without sleep

// Takes both over (not on failure): `below` moves the datagrams, `beside`, which reaches the same `peers` by world
// rank, shows who is there. 0 or -ENOMEM.
int co_transport_liveness_open(struct co_transport **out, struct co_transport *below, struct co_transport *beside,
                               int peers, uint64_t (*now_ns)(void));

#endif
