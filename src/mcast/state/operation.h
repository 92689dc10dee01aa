// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. An operation's blocks and what may be done with its bytes (operation.c).
#ifndef CASTOFF_MCAST_STATE_OPERATION_H
#define CASTOFF_MCAST_STATE_OPERATION_H

#include "mcast/state/endpoint.h"

static inline bool co_operation_has_to_send(const struct co_mcast_op *op)
{
    return op->state == 0 && op->next_psn < op->send_chunks;
}

struct co_mcast_op *co_operation_find(struct co_mcast_group *group, uint32_t number); // NULL: not begun, or over
// Its bytes may be read: it has not failed, and the buffer is not the program's again, which it is from its release on
// unless a copy is kept. A released operation is there until its group is moved.
bool co_operation_has_bytes(const struct co_mcast_op *op);
struct co_receive_block *co_operation_block(struct co_mcast_op *op, int source); // NULL: that one sends none
int co_operation_source(const struct co_mcast_op *op, int block);
int co_operation_senders(const struct co_mcast_op *op);     // at a time
int co_operation_predecessor(const struct co_mcast_op *op); // in the chain, with bytes to send; -1: none
int co_operation_successor(const struct co_mcast_op *op);   // in the chain; -1: none
// A long block is left to the sending thread, where there is one.
bool co_operation_is_for_sender(const struct co_mcast_op *op);
// Whose own block is the next to leave, if that is for the sending thread; NULL: nobody's.
struct co_mcast_op *co_operation_for_sender(struct co_mcast_group *group);
void co_operation_count_bitmap(struct co_mcast_op *op, size_t bytes); // more of it, until it is freed

#endif
