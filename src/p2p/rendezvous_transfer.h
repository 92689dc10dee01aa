// SPDX-License-Identifier: BSD-3-Clause
//
// Large messages between hosts, beside the packets. Lock held.
#ifndef CASTOFF_P2P_RENDEZVOUS_TRANSFER_H
#define CASTOFF_P2P_RENDEZVOUS_TRANSFER_H

#include "p2p/p2p_state.h"

bool co_p2p_transfer_send(struct co_p2p_send *send); // the bytes that a receive asked for; false: no room
void co_p2p_transfer_receive(struct co_p2p *p2p, struct co_p2p_receive *receive); // which has its message
int co_p2p_transfer_receive_waiting(struct co_p2p *p2p);                          // those that found no room
// What is over. Peers that cannot be reached any more are marked as broken.
int co_p2p_transfer_end(struct co_p2p *p2p);

#endif
