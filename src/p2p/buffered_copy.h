// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of small messages that are sent in their place. Lock held.
#ifndef CASTOFF_P2P_BUFFERED_COPY_H
#define CASTOFF_P2P_BUFFERED_COPY_H

#include "p2p/p2p_state.h"

// Counted among its context's users. NULL: there is no room.
struct co_p2p_send *co_p2p_buffered_copy(struct co_p2p *p2p, const struct co_p2p_send *send);

#endif
