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

struct co_mcast_group;

struct co_retransmit {
    struct co_mcast_group *group;
    uint32_t operation, first,
        count; // of chunks; 0: NACK_DEFERRED, in its place among the answers, and `first` are known
    uint16_t source;
    uint8_t label; // 0: it waited for the chunks, or the request had none
    bool by_read;  // they may be lent instead
    int to;        // member
};

#endif
