// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast: the slow path (S1, section 3.3). Exact missing ranges are asked of the left neighbour in the
// ring (nack.c), who sends them (retransmit.c) or lends its memory (rdma_repair_offer.c), out of which they are
// read (rdma_repair_read.c). By the holder of the endpoint; now is mcast->now_ns; members and sources are indexes in the
// group.
#ifndef CASTOFF_MCAST_REPAIR_REPAIR_H
#define CASTOFF_MCAST_REPAIR_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "mcast/wire/wire.h"

struct co_mcast;
struct co_mcast_group;
struct co_mcast_op;
struct co_request;

struct co_repair {
    struct co_mcast_group *group;
    uint32_t operation, first, count; // of chunks; 0: PARKED, in its place among the answers, and `first` are known
    uint16_t source;
    uint8_t label; // 0: it waited for the chunks, or the request had none
    bool by_read;  // they may be lent instead
    int to;        // member
};

// nack.c
void co_repair_request(struct co_mcast_group *group);
uint64_t co_repair_due_ns(struct co_mcast_group *group);
// A first transmission of an operation that is not over; is_new: it was not here before.
void co_repair_hear(struct co_mcast_group *group, const struct co_chunk *chunk, bool is_new);
// The answer to the request with that label, 0: of none. is_new: its chunk was not here.
void co_repair_answered(struct co_mcast_group *group, uint32_t operation, uint8_t label, bool is_new);
void co_repair_take_parked(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body);
void co_repair_nudged(struct co_mcast_group *group, int source);
void co_repair_block_arrived(struct co_mcast_op *op, int source);

// rdma_repair_read.c
bool co_repair_can_read(const struct co_mcast_group *group, int holder, const struct co_request *request);
void co_repair_take_lent(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body);
void co_repair_reads_look(struct co_mcast_op *op);   // whether they have ended
void co_repair_reads_forget(struct co_mcast_op *op); // what they bring comes too late

// rdma_repair_offer.c
bool co_repair_may_lend(const struct co_mcast_op *op, int to);
// What stands first in the queue of answers. Returns how many chunks were lent, 0 when the local queue was full; or
// negative: they cannot be, and are to be sent from now on.
int co_repair_lend(struct co_mcast *mcast);
void co_loans_take_back(struct co_mcast_op *op);

// retransmit.c
void co_repair_start(struct co_mcast_op *op);
void co_repair_serve(struct co_mcast *mcast);
void co_repair_serve_in_turn(struct co_mcast *mcast); // one answer, if first transmissions have had their turn
void co_repair_take_fetch(struct co_mcast_group *group, int from, const struct co_control *control,
                          const uint8_t *body);
void co_repair_forward(struct co_mcast_op *op, int source, uint32_t psn); // to the right neighbour, if it wants it
void co_repair_forget(struct co_mcast_group *group);

#endif
