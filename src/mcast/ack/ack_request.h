// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Whoever waits for an ACK asks for it (ack_request.c).
#ifndef CASTOFF_MCAST_ACK_ACK_REQUEST_H
#define CASTOFF_MCAST_ACK_ACK_REQUEST_H

#include "mcast/mcast.h"

// A report lost further down is asked for again of those who hold our own credit back. True: the request for an ACK
// came the way that leads to the source, which waits, then.
bool co_ack_request_pass_on(struct co_mcast_group *group, int from, uint32_t source);
void co_ack_request_send_due(struct co_mcast_group *group); // asks those whose ACK is overdue

#endif
