// SPDX-License-Identifier: BSD-3-Clause
//
// Buffered sends. castoff keeps the bytes in memory of its own, but counts them against the buffer that the program has
// attached, as native does: a program that attaches too little learns it in the same place.
#ifndef CASTOFF_PMPI_P2P_BUFFERED_H
#define CASTOFF_PMPI_P2P_BUFFERED_H

#include "pmpi/p2p/messages.h"
#include "pmpi/request/requests.h"

// The buffer that native has taken; NULL and 0: detached.
void co_buffered_attach(const void *address, size_t bytes);

// Until all messages have left that count against it.
void co_buffered_drain(void);

// MPI_Bsend. 0, -ENOBUFS: no room in the attached buffer, or other -errno.
int co_buffered_send(const struct co_message_buffer *buffer, int destination, int tag,
                     struct co_communicator *communicator);

// The same behind a request, which is done at once when there was room.
int co_buffered_start(struct co_mpi_request *request, const struct co_message_buffer *buffer, int destination, int tag,
                      struct co_communicator *communicator);

#endif
