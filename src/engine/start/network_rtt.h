// SPDX-License-Identifier: BSD-3-Clause
//
// Is the MPI below nearer to other nodes than a datagram is? Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_NETWORK_RTT_H
#define CASTOFF_ENGINE_START_NETWORK_RTT_H

#include <stdbool.h>

struct co_engine;

// By the first ranks of the first two nodes, all others return at once; called by both, whether their networks are open
// (`has_network`, mcast and all) or not. On rank 0: whether a message of the MPI below and its echo take less than a
// third of what a datagram and its answer take, which is so where that MPI goes past the kernel, by a fabric or another
// network, and castoff does not. False elsewhere, and where that is not known.
bool co_network_rtt_favours_native(struct co_engine *engine, bool has_network);

#endif
