// SPDX-License-Identifier: BSD-3-Clause
//
// From the match to the bytes. Lock held.
#ifndef CASTOFF_P2P_RECEIVE_H
#define CASTOFF_P2P_RECEIVE_H

#include "p2p/message.h"

// A message and the receive that the matcher has given it, NULL: none, and it waits. True: the message is gone.
bool co_p2p_arrive(struct co_p2p_message *message, struct co_match_node *receive, const unsigned char *payload);
int co_p2p_read_progress(struct co_p2p *p2p); // from their senders' memory; how many have moved

#endif
