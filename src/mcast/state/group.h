// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. A team's members on this endpoint (group.c).
#ifndef CASTOFF_MCAST_STATE_GROUP_H
#define CASTOFF_MCAST_STATE_GROUP_H

#include "mcast/state/endpoint.h"

// Becomes the seed's, all but units. 0 or -ENOMEM. Bounded work: it may come up while datagrams are received.
int co_group_open(struct co_mcast *mcast, struct co_mcast_seed *seed);
// It has something to do, or its timers have changed: the next progress looks at it.
void co_group_activate(struct co_mcast_group *group);

#endif
