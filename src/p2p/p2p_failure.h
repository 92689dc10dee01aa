// SPDX-License-Identifier: BSD-3-Clause
//
// Operations that cannot be done any more, because their peer or we have ended. Lock held.
#ifndef CASTOFF_P2P_FAILURE_H
#define CASTOFF_P2P_FAILURE_H

#include "p2p/p2p.h"

void co_p2p_fail_peer(struct co_p2p *p2p, int peer); // whose last packets are taken
void co_p2p_end_all(struct co_p2p *p2p);             // whatever is under way, when the channels are closed

#endif
