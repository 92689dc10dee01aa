// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast: how much of an operation's own block may leave (send_room.c), by flow_control.h, send_turns.h
// and send_rate.h. By the holder of the endpoint.
#ifndef CASTOFF_MCAST_SEND_SEND_ROOM_H
#define CASTOFF_MCAST_SEND_SEND_ROOM_H

#include <stdint.h>

struct co_mcast_op;

// Once, before any of it has come: where many send at once.
void co_operation_take_turns(struct co_mcast_op *op);
// Chunks that may leave now. 0: none before the group's pace_due_ns, or credit, which is asked for from now on.
uint32_t co_operation_room(struct co_mcast_op *op);

#endif
