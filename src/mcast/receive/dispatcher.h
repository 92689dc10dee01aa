// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Where every datagram enters (dispatcher.c).
#ifndef CASTOFF_MCAST_RECEIVE_DISPATCHER_H
#define CASTOFF_MCAST_RECEIVE_DISPATCHER_H

#include "mcast/endpoint.h"

// Two co_deliver_fn whose arg is the endpoint: whatever comes off the network, and chunks whose
// payload stands where co_landing_open said.
void co_dispatcher_deliver(void *mcast, const struct co_arrival *arrivals, unsigned count);
void co_dispatcher_deliver_landed(void *mcast, const struct co_arrival *arrivals, unsigned count);

#endif
