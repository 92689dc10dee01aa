// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Where chunks go that have yet to come, so that they need no copy (landing.c).
#ifndef CASTOFF_MCAST_RECEIVE_LANDING_H
#define CASTOFF_MCAST_RECEIVE_LANDING_H

#include "mcast/endpoint.h"

void co_landing_open(struct co_mcast *mcast);   // where the transport can receive to where payload goes
void co_landing_begin(struct co_mcast_op *op);  // its chunks may come next
void co_landing_follow(struct co_mcast_op *op); // one of them has come
void co_landing_forget(const struct co_mcast_op *op);

#endif
