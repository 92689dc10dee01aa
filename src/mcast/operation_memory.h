// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. The own block as the transport knows it (operation_memory.c).
#ifndef CASTOFF_MCAST_OPERATION_MEMORY_H
#define CASTOFF_MCAST_OPERATION_MEMORY_H

#include "mcast/state/operation.h"

void co_operation_memory_open(struct co_mcast_op *op);          // where the transport knows regions
bool co_operation_memory_is_busy(const struct co_mcast_op *op); // the transport has yet to read some of it
bool co_operation_memory_try_close(struct co_mcast_op *op);     // of one that has a region, or has lent some
// Before the buffer is given back. False: not yet; progress is called again when it may be.
static inline bool co_operation_memory_close(struct co_mcast_op *op)
{
    return (op->region == NULL && op->exports == NULL) || co_operation_memory_try_close(op);
}
// Likewise, and what has yet to leave is lost: only before the transport is closed.
void co_operation_memory_drop(struct co_mcast_op *op);

#endif
