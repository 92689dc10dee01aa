// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Repair by reading memory, the holder's side (rdma_repair_offer.c).
#ifndef CASTOFF_MCAST_REPAIR_RDMA_REPAIR_OFFER_H
#define CASTOFF_MCAST_REPAIR_RDMA_REPAIR_OFFER_H

#include "mcast/mcast.h"

bool co_rdma_repair_may_offer(const struct co_mcast_op *op, int to);
// What stands first in the queue of answers. Returns how many chunks were lent, 0 when the local queue was full; or
// negative: they cannot be, and are to be sent from now on.
int co_rdma_repair_offer(struct co_mcast *mcast);
void co_rdma_repair_withdraw(struct co_mcast_op *op);

#endif
