// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Life of an operation: found, settled, failed (operation.c).
#ifndef CASTOFF_MCAST_OPERATION_H
#define CASTOFF_MCAST_OPERATION_H

#include "mcast/endpoint.h"

struct co_mcast_op *co_operation_find(struct co_mcast_group *group, uint32_t number); // NULL: not begun, or over
// Its bytes may be read: it has not failed, and the buffer is not the program's again, which it is from its release on
// unless a copy is kept. A released operation is there until its group is moved.
bool co_operation_has_bytes(const struct co_mcast_op *op);
struct co_receive_block *co_operation_block(struct co_mcast_op *op, int source); // NULL: that one sends none
int co_operation_source(const struct co_mcast_op *op, int block);
int co_operation_senders(const struct co_mcast_op *op);              // at a time
int co_operation_predecessor(const struct co_mcast_op *op);          // in the chain, with bytes to send; -1: none
void co_operation_block_arrived(struct co_mcast_op *op, int source); // the last chunk of it
void co_operation_own_block_is_here(struct co_mcast_op *op);         // to be sent; nothing is awaited of it
// Moves all as far as they go, and frees those that nobody needs: no pointer to an operation outlives it.
void co_operations_settle(struct co_mcast_group *group);
// Unless it is over. Now, or once its buffer is being read no more (has_failing): then progress tries it again.
void co_operation_fail(struct co_mcast_op *op, int error);
void co_operations_fail_again(struct co_mcast_group *group);
// Whose own block is the next to leave, if that is for the sending thread; NULL: nobody's.
struct co_mcast_op *co_operation_for_sender(struct co_mcast_group *group);
void co_operation_part_sent(struct co_mcast_op *op); // a part is back from the sending thread, sent or not
void co_operation_count_bitmap(struct co_mcast_op *op, size_t bytes); // more of it, until it is freed

#endif
