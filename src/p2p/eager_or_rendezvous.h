// SPDX-License-Identifier: BSD-3-Clause
//
// How a message leaves, eager or by an RTS (eager_or_rendezvous.c). Lock held.
#ifndef CASTOFF_P2P_EAGER_OR_RENDEZVOUS_H
#define CASTOFF_P2P_EAGER_OR_RENDEZVOUS_H

#include "p2p/p2p.h"

bool co_p2p_push_message(struct co_p2p *p2p, int peer, struct co_p2p_send *send); // false: it has to wait

#endif
