// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Where chunks go that have yet to come, so that they need no copy (landing.c).
#ifndef CASTOFF_MCAST_RECEIVE_LANDING_H
#define CASTOFF_MCAST_RECEIVE_LANDING_H

#include "mcast/mcast.h"

// What a lander (transport.h) is asked; the argument is the endpoint.
bool co_landing_expects(void *mcast, unsigned subgroup, struct co_landing *landing);
bool co_landing_is_expected(void *mcast, const uint8_t *data, size_t bytes, uint32_t place);
// Where the transport can receive to where payload goes. The lander outlives the transport.
void co_landing_open(struct co_mcast *mcast, const struct co_lander *lander);
void co_landing_begin(struct co_mcast_op *op);  // its chunks may come next
void co_landing_follow(struct co_mcast_op *op); // one of them has come
void co_landing_forget(const struct co_mcast_op *op);

#endif
