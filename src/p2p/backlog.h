// SPDX-License-Identifier: BSD-3-Clause
//
// What found no room in a channel. Lock held.
#ifndef CASTOFF_P2P_BACKLOG_H
#define CASTOFF_P2P_BACKLOG_H

#include "p2p/p2p.h"

int co_p2p_push_waiting(struct co_p2p *p2p); // packets that found room now

#endif
