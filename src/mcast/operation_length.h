// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. A broadcast whose root gives another length than this member (operation_length.c).
#ifndef CASTOFF_MCAST_OPERATION_LENGTH_H
#define CASTOFF_MCAST_OPERATION_LENGTH_H

#include "mcast/mcast.h"

// 0: the block has the length that its root gave. -EMSGSIZE: it cannot any more, or -ENOMEM.
int co_operation_resize(struct co_mcast_op *op, size_t bytes);

#endif
