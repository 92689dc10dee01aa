// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Where every datagram enters (dispatcher.c).
#ifndef CASTOFF_MCAST_RECEIVE_DISPATCHER_H
#define CASTOFF_MCAST_RECEIVE_DISPATCHER_H

#include "mcast/endpoint.h"

void co_dispatcher_open(struct co_mcast *mcast);
// A co_deliver_fn whose arg is the endpoint, of whatever comes off the network.
void co_dispatcher_deliver(void *mcast, const struct co_arrival *arrivals, unsigned count);

#endif
