// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests of castoff's own: what MPI_Start starts, behind a handle that stays the same. While nothing is
// under way the request has no kind, so completion calls leave its placeholder to native, which is such a request
// itself: inactive, with an empty status.
#ifndef CASTOFF_PMPI_REQUEST_PERSISTENT_H
#define CASTOFF_PMPI_REQUEST_PERSISTENT_H

#include "pmpi/request/requests.h"

// Once its handle leads nowhere. An operation under way keeps what it needs.
void co_persistent_release(struct co_persistent *persistent);

// MPI_Request_free of a handle of ours with nothing under way.
int co_persistent_free(MPI_Request *handle, struct co_mpi_request *request);

#endif
