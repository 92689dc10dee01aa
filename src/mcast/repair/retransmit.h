// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. The holder's side of repair: NACKs answered in turn, and chunks passed on (retransmit.c).
#ifndef CASTOFF_MCAST_REPAIR_RETRANSMIT_H
#define CASTOFF_MCAST_REPAIR_RETRANSMIT_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

#define CO_EARLY_NACKS 16 // requests kept for operations that have yet to begin

// A request for an operation that has not begun here: answered when it begins.
struct co_early_nack {
    struct co_early_nack *next;
    uint32_t operation;
    struct co_nack_body body;
    unsigned count;
    struct co_nack_range ranges[];
};

void co_retransmit_open(struct co_mcast_op *op);
void co_retransmit_progress(struct co_mcast *mcast);
void co_retransmit_in_turn(struct co_mcast *mcast); // one answer, if first transmissions have had their turn
void co_nack_receive(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body);
void co_retransmit_forward(struct co_mcast_op *op, int source, uint32_t psn); // to the right neighbour, if it wants it
void co_retransmit_forward_sent(struct co_mcast_op *op, uint32_t first);      // own chunks that have left since then
void co_retransmit_drop(struct co_mcast_group *group);

#endif
