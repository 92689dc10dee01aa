// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that came together, matched by several lanes. Lock held.
#ifndef CASTOFF_P2P_MESSAGE_BATCH_H
#define CASTOFF_P2P_MESSAGE_BATCH_H

#include "p2p/message.h"

struct co_p2p_batch *co_p2p_batch_open(unsigned lanes); // NULL: out of memory
void co_p2p_batch_close(struct co_p2p_batch *pending);
void co_p2p_batch_add(struct co_p2p *p2p, struct co_p2p_message *message); // which holds its bytes
void co_p2p_batch_match(struct co_p2p *p2p);                               // what has been added

#endif
