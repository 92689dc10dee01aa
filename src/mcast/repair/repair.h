// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast: the slow path (S1, section 3.3). Exact missing ranges are asked of the left neighbour in the
// ring (nack.c), who sends them (retransmit.c) or lends its memory (rdma_repair_offer.c), out of which they are
// read (rdma_repair_read.c). By the holder of the endpoint; now is mcast->now_ns; members and sources are indexes in
// the group.
#ifndef CASTOFF_MCAST_REPAIR_REPAIR_H
#define CASTOFF_MCAST_REPAIR_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "mcast/wire/wire.h"

struct co_mcast;
struct co_mcast_group;
struct co_mcast_op;
struct co_nack;

struct co_retransmit {
    struct co_mcast_group *group;
    uint32_t operation, first,
        count; // of chunks; 0: NACK_DEFERRED, in its place among the answers, and `first` are known
    uint16_t source;
    uint8_t label; // 0: it waited for the chunks, or the request had none
    bool by_read;  // they may be lent instead
    int to;        // member
};

// nack.c
void co_nack_send_due(struct co_mcast_group *group);
uint64_t co_nack_due_ns(struct co_mcast_group *group);
// A first transmission of an operation that is not over; is_new: it was not here before.
void co_nack_chunk_arrived(struct co_mcast_group *group, const struct co_chunk *chunk, bool is_new);
// The answer to the request with that label, 0: of none. is_new: its chunk was not here.
void co_nack_answered(struct co_mcast_group *group, uint32_t operation, uint8_t label, bool is_new);
void co_nack_deferred_receive(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body);
void co_nack_source_waits(struct co_mcast_group *group, int source);
void co_nack_block_arrived(struct co_mcast_op *op, int source);

// rdma_repair_read.c
bool co_rdma_repair_can_read(const struct co_mcast_group *group, int holder, const struct co_nack *request);
void co_rdma_repair_receive_offer(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body);
void co_rdma_repair_poll(struct co_mcast_op *op);   // whether they have ended
void co_rdma_repair_cancel(struct co_mcast_op *op); // what they bring comes too late

// rdma_repair_offer.c
bool co_rdma_repair_may_offer(const struct co_mcast_op *op, int to);
// What stands first in the queue of answers. Returns how many chunks were lent, 0 when the local queue was full; or
// negative: they cannot be, and are to be sent from now on.
int co_rdma_repair_offer(struct co_mcast *mcast);
void co_rdma_repair_withdraw(struct co_mcast_op *op);

// retransmit.c
void co_retransmit_open(struct co_mcast_op *op);
void co_retransmit_progress(struct co_mcast *mcast);
void co_retransmit_in_turn(struct co_mcast *mcast); // one answer, if first transmissions have had their turn
void co_nack_receive(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body);
void co_retransmit_forward(struct co_mcast_op *op, int source, uint32_t psn); // to the right neighbour, if it wants it
void co_retransmit_drop(struct co_mcast_group *group);

#endif
