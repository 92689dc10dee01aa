// SPDX-License-Identifier: BSD-3-Clause
//
// What a receiver tells a sender: that it is matched (ACK), read (FIN), or that its bytes are wanted (CTS). Each takes
// the message that it answers, or one that was kept for it: if there is no room, the answer waits in its memory, for a
// sender that is not answered waits for ever. Lock held.
#ifndef CASTOFF_P2P_REPLY_H
#define CASTOFF_P2P_REPLY_H

#include "p2p/message.h"

void co_p2p_reply(struct co_p2p *p2p, int peer, enum co_packet_kind kind, uint64_t operation,
                  struct co_p2p_message *message);
// Nothing, or no more, is wanted of what the receive has met.
void co_p2p_reply_fin(struct co_p2p *p2p, const struct co_p2p_receive *receive, struct co_p2p_message *message);
// Asks for the bytes, packet by packet or under a number of the remote channel. The receive has a number.
void co_p2p_reply_cts(struct co_p2p *p2p, const struct co_p2p_receive *receive, uint32_t number,
                      struct co_p2p_message *message);
// A number for it. False: there is no memory for one. The receive has ended, and its sender is told that nothing more
// is wanted.
bool co_p2p_name_or_refuse(struct co_p2p *p2p, struct co_p2p_receive *receive, struct co_p2p_message *message);
// That its bytes are being read. Whoever does not hear of it goes on waiting, so it needs no memory.
void co_p2p_reply_reading(struct co_p2p *p2p, const struct co_p2p_receive *receive);

#endif
