// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent collectives: planned by MPIX_..._init, and the nonblocking collective at each MPI_Start. Each has a team
// of its own, because MPI orders the calls that make them, but not their starts: those of two may come in another order
// on each member, and none is matched with the communicator's other collectives. The call that makes one exchanges
// words with the other members, as MPI allows; a start waits for nobody. Making is warm, starting hot.
#ifndef CASTOFF_PMPI_COLLECTIVE_PERSISTENT_COLLECTIVES_H
#define CASTOFF_PMPI_COLLECTIVE_PERSISTENT_COLLECTIVES_H

#include "engine/decide/decide.h"
#include "pmpi/collective/nonblocking.h"

// `reason`: what this member has found of the call. Where the communicator is served all members make the request, or
// none: CO_TAKE: *handle is one, and inactive; else the reason why the call goes to native on all of them.
enum co_reason co_persistent_collective_make(const struct co_nonblocking *operation, enum co_reason reason,
                                             MPI_Request *handle);

#endif
