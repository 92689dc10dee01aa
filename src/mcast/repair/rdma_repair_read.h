// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Repair by reading memory, the asker's side (rdma_repair_read.c).
#ifndef CASTOFF_MCAST_REPAIR_RDMA_REPAIR_READ_H
#define CASTOFF_MCAST_REPAIR_RDMA_REPAIR_READ_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

struct co_nack;

bool co_rdma_repair_can_read(const struct co_mcast_group *group, int holder, const struct co_nack *request);
void co_rdma_repair_receive_offer(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body);
bool co_rdma_repair_have_ended(struct co_mcast_op *op); // of one that awaits some (awaits_reads)
void co_rdma_repair_cancel(struct co_mcast_op *op);     // what they bring comes too late

#endif
