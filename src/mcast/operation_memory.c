// SPDX-License-Identifier: BSD-3-Clause
//
// The own block as the transport knows it: a region from the start of the operation until the buffer is given back,
// where the transport has a use for one. While it still reads from there the operation cannot end: the program would
// change bytes that are on their way out. Without a region, as after a registration that failed, for blocks of others,
// which only repairs are sent of, and for kept copies, the transport copies. What has been lent to the neighbour
// (rdma_repair_offer.c) is taken back at the same point. Where the transport knows no regions it costs a test at both
// ends.
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/operation_memory.h"
#include "mcast/repair/rdma_repair_offer.h"

void co_operation_memory_open(struct co_mcast_op *op)
{
    struct co_transport *transport = op->group->mcast->transport;
    if (op->group->count == 1) {
        return;
    }
    const struct co_receive_block *own = co_operation_block(op, op->group->self);
    struct co_region *region;
    if (own != NULL && own->bytes > 0 &&
        transport->ops->region_open(transport, &region, op->buffer + own->offset, own->bytes, false) == 0) {
        op->region = region;
    }
}

bool co_operation_memory_is_busy(const struct co_mcast_op *op)
{
    const struct co_transport *transport = op->group->mcast->transport;
    return op->region != NULL && transport->ops->region_is_busy(transport, op->region);
}

bool co_mcast_op_is_being_read(const struct co_mcast_op *op)
{
    return op->is_sending || co_operation_memory_is_busy(op);
}

void co_operation_memory_drop(struct co_mcast_op *op)
{
    struct co_transport *transport = op->group->mcast->transport;
    co_rdma_repair_withdraw(op);
    if (op->region != NULL) {
        transport->ops->region_close(transport, op->region);
        op->region = NULL;
    }
}

bool co_operation_memory_try_close(struct co_mcast_op *op)
{
    if (co_operation_memory_is_busy(op)) {
        op->group->mcast->wants_write = true; // as for a full queue: what leaves makes the end possible
        return false;
    }
    co_operation_memory_drop(op);
    return true;
}
