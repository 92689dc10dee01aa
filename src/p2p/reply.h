// SPDX-License-Identifier: BSD-3-Clause
//
// What a receiver tells a sender: that it is matched (ACK), read (FIN), or that its bytes are wanted (CTS). Lock held.
#ifndef CASTOFF_P2P_REPLY_H
#define CASTOFF_P2P_REPLY_H

#include "p2p/p2p_state.h"

// An answer that waits for room.
struct co_p2p_answer {
    struct co_p2p_queued queued; // first
    struct co_packet packet;
    unsigned char payload[sizeof(struct co_packet_cts)];
};

void co_p2p_reply(struct co_p2p *p2p, int peer, enum co_packet_kind kind, uint64_t operation);
// Asks for the bytes, packet by packet or under a number of the remote channel. The receive has a number.
void co_p2p_reply_cts(struct co_p2p *p2p, const struct co_p2p_receive *receive, uint32_t number);

#endif
