// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. The ways out of a group (group_end.c).
#ifndef CASTOFF_MCAST_GROUP_END_H
#define CASTOFF_MCAST_GROUP_END_H

#include "mcast/mcast.h"

void co_group_free(struct co_mcast_group *group); // without operations; with its seed
// A closed one that has nothing left to do; the eldest of those lingering may be freed for it.
void co_group_linger(struct co_mcast_group *group);
void co_group_abort(struct co_mcast_group *group, int error); // once; tells the others
// What another member says of an operation cannot be true if our arguments are: the program gave different ones on
// different ranks.
void co_group_members_disagree(struct co_mcast_group *group);
// Tells a member that this one can do nothing for the team.
void co_seed_send_broken(struct co_mcast *mcast, const struct co_mcast_seed *seed, int member);

#endif
