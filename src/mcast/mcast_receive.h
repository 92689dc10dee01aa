// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. What follows from what has come (mcast_receive.c).
#ifndef CASTOFF_MCAST_MCAST_RECEIVE_H
#define CASTOFF_MCAST_MCAST_RECEIVE_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"
#include "transport/arrival.h"

struct co_receive_lane;

void co_mcast_receive_open(struct co_mcast *mcast); // chunks may come straight to their place where the transport can
// A co_deliver_fn whose arg is the endpoint, of whatever comes off the network.
void co_mcast_deliver(void *mcast, const struct co_arrival *arrivals, unsigned count);
void co_mcast_deliver_lane(struct co_mcast *mcast, struct co_receive_lane *lane); // what it holds
// Places a verified chunk of this operation, whatever its kind, and draws all conclusions; one of another shape fails
// the operation. True: it is new; of a contribution never.
bool co_mcast_take_chunk(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);

#endif
