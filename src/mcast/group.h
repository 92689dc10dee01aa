// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. A team's members on this endpoint: life, timers, and the way out (group.c).
#ifndef CASTOFF_MCAST_GROUP_H
#define CASTOFF_MCAST_GROUP_H

#include "mcast/endpoint.h"

// Becomes the seed's, all but units. 0 or -ENOMEM. Bounded work: it may come up while datagrams are received.
int co_group_open(struct co_mcast *mcast, struct co_mcast_seed *seed);
// It has something to do, or its timers have changed: the next progress looks at it.
void co_group_activate(struct co_mcast_group *group);
void co_group_free(struct co_mcast_group *group); // without operations; with its seed
// A closed one that has nothing left to do; the eldest of those lingering may be freed for it.
void co_group_linger(struct co_mcast_group *group);
bool co_group_is_idle(const struct co_mcast_group *group);
void co_group_break(struct co_mcast_group *group, int error); // once; tells the others
void co_group_progress(struct co_mcast_group *group);
uint64_t co_group_timer_ns(struct co_mcast_group *group); // when to progress it if nothing comes; CO_NEVER

#endif
