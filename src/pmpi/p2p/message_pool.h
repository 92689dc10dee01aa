// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for sends and receives behind requests: many at a time, each at the begin of a line. One by one an aligned
// piece costs malloc more than all else that a first posting does. What has been taken stays with its request, and
// comes back here when it has ended after its request was freed. Any thread, also with the lock of point-to-point held.
#ifndef CASTOFF_PMPI_P2P_MESSAGE_POOL_H
#define CASTOFF_PMPI_P2P_MESSAGE_POOL_H

struct co_message_operation;

struct co_message_operation *co_message_pool_take(void); // NULL: out of memory
void co_message_pool_give(struct co_message_operation *operation);

// At the end: all, wherever they are. Nobody uses any.
void co_message_pool_close(void);

#endif
