// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a proxy that a rank waits for still moves, from a number that it counts up in its turns. One that sleeps does
// not move either, so it is rung before it counts as dead. Time in which the rank itself did not look, stopped perhaps,
// and its proxy with it, is not held against the proxy. Time is an argument; no state but this.
#ifndef CASTOFF_OFFLOAD_RANK_RANK_PROXY_HEARTBEAT_H
#define CASTOFF_OFFLOAD_RANK_RANK_PROXY_HEARTBEAT_H

#include <stdint.h>

#include "base/clock.h"

#define CO_HEARTBEAT_QUIET_NS CO_NS_PER_S // or a quarter of the deadline; and who has not looked for so long was away

enum co_heartbeat { CO_HEARTBEAT_MOVES, CO_HEARTBEAT_TO_RING, CO_HEARTBEAT_STOPPED };

struct co_rank_proxy_heartbeat {
    uint64_t deadline_ns;
    uint64_t count, moved_ns; // when it was seen to move last; 0: the wait begins
    uint64_t looked_ns;
};

void co_rank_proxy_heartbeat_begin(struct co_rank_proxy_heartbeat *heartbeat); // of a wait
enum co_heartbeat co_rank_proxy_heartbeat_look(struct co_rank_proxy_heartbeat *heartbeat, uint64_t count,
                                               uint64_t now_ns);

#endif
