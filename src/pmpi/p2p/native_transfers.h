// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI below as the native channel of messages between hosts: nonblocking operations on a private duplicate of
// MPI_COMM_WORLD, by slot. Who calls it and when is told in p2p/channel/native.h.
#ifndef CASTOFF_PMPI_P2P_NATIVE_TRANSFERS_H
#define CASTOFF_PMPI_P2P_NATIVE_TRANSFERS_H

#include "p2p/channel/native.h"

// Collective over MPI_COMM_WORLD: the settings, and whether there are other hosts, are the same everywhere. *out: NULL
// on all ranks where messages between hosts stay native. 0, or -errno, this rank could not: then no rank may use it.
int co_native_transfers_open(bool has_hosts, const struct co_native **out);
void co_native_transfers_close(void); // collective where it is open

#endif
