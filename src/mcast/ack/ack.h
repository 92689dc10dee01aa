// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. What this member has, said to whom it concerns: handshake and credit, and the question for them
// (ack.c).
#ifndef CASTOFF_MCAST_ACK_ACK_H
#define CASTOFF_MCAST_ACK_ACK_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

void co_ack_operation_done(struct co_mcast_op *op); // all its blocks are here: the left neighbour is owed a report
void co_ack_changed(struct co_mcast_group *group, int source); // what is had or heard of it here or below us
void co_ack_send_due(struct co_mcast_group *group);            // sends what is due by now
// To one member, all that concerns it. `echo`: low half of the sequence of the request for an ACK that it answers, 0:
// none.
void co_ack_send(struct co_mcast_group *group, int member, uint32_t echo);
void co_ack_receive(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body);
// Opens the window as far as all members have what was sent. is_asked: by an answer to a request for an ACK.
void co_ack_credit(struct co_mcast_group *group, bool is_asked);
bool co_ack_right_has(const struct co_mcast_group *group, uint32_t number); // all blocks of that operation

#endif
