// SPDX-License-Identifier: BSD-3-Clause
//
// What goes to a peer, of a message and of what its receive has asked for. Lock held.
#ifndef CASTOFF_P2P_SEND_H
#define CASTOFF_P2P_SEND_H

#include "p2p/p2p.h"

bool co_p2p_push_message(struct co_p2p *p2p, int peer, struct co_p2p_send *send); // false: it has to wait

#endif
