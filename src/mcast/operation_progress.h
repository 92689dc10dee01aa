// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. What follows for an operation from what its parts have done: it goes on, ends or fails
// (operation_progress.c).
#ifndef CASTOFF_MCAST_OPERATION_PROGRESS_H
#define CASTOFF_MCAST_OPERATION_PROGRESS_H

#include "mcast/mcast.h"

void co_operation_block_arrived(struct co_mcast_op *op, int source); // the last chunk of it
void co_operation_own_block_is_here(struct co_mcast_op *op);         // to be sent; nothing is awaited of it
// Moves all as far as they go, and frees those that nobody needs: no pointer to an operation outlives it.
void co_operations_settle(struct co_mcast_group *group);
// Unless it is over. Now, or once its buffer is being read no more (has_failing): then progress tries it again.
void co_operation_fail(struct co_mcast_op *op, int error);
// Its root says that it has none with that number: it ends with -ECANCELED, if nothing of it has come.
void co_operation_is_skipped(struct co_mcast_group *group, int from, uint32_t number);
void co_operations_fail_again(struct co_mcast_group *group);
void co_operation_part_sent(struct co_mcast_op *op); // a part is back from the sending thread, sent or not

#endif
