// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Peers that are said to be gone (dead_peers.c).
#ifndef CASTOFF_MCAST_LIVENESS_DEAD_PEERS_H
#define CASTOFF_MCAST_LIVENESS_DEAD_PEERS_H

#include "mcast/mcast.h"

void co_dead_peers_poll_transport(struct co_mcast *mcast);   // what it says of peers
void co_dead_peers_heard(struct co_mcast *mcast, int rank);  // an authenticated word, not heard before
void co_dead_peers_progress(struct co_mcast *mcast);         // asks whom it may concern
uint64_t co_dead_peers_due_ns(const struct co_mcast *mcast); // when to do so if nothing comes; CO_NEVER

#endif
