// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI below as the native channel of messages between hosts: nonblocking operations on a private duplicate of
// MPI_COMM_WORLD, by slot. Who calls it and when is told in p2p/channel/native.h.
#ifndef CASTOFF_PMPI_P2P_NATIVE_TRANSFERS_H
#define CASTOFF_PMPI_P2P_NATIVE_TRANSFERS_H

#include "p2p/channel/native.h"

// Collective over MPI_COMM_WORLD: the settings and the number of nodes are the same everywhere. NULL on all ranks where
// messages between hosts stay native, or some rank could not.
const struct co_native *co_native_transfers_open(int node_count);
void co_native_transfers_close(void); // collective where it is open

#endif
