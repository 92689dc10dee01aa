// SPDX-License-Identifier: BSD-3-Clause
//
// Receives whose request was freed while they were under way. Their data still has to come into the program's buffer,
// but they end where native MPI must not be called, perhaps in its own progress loop.
#ifndef CASTOFF_PMPI_P2P_FREED_RECEIVES_H
#define CASTOFF_PMPI_P2P_FREED_RECEIVES_H

#include "pmpi/p2p/message_requests.h"

// The `detach` of a receive's request.
bool co_freed_receive_detach(void *operation);

extern _Atomic(struct co_message_operation *) co_freed_receives_ended;
void co_freed_receives_unpack(void);

// Unpacks what only native can unpack. In a thread that may call it; costs a load when there is none.
static inline void co_freed_receives_finish(void)
{
    if (__builtin_expect(co_load_relaxed(&co_freed_receives_ended) != NULL, 0)) { // relaxed: taken by an exchange
        co_freed_receives_unpack();
    }
}

#endif
