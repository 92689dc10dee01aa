// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Many chunks of a block at once (chunk_run.c).
#ifndef CASTOFF_MCAST_RECEIVE_CHUNK_RUN_H
#define CASTOFF_MCAST_RECEIVE_CHUNK_RUN_H

#include "mcast/state/endpoint.h"

struct co_run_taken {
    unsigned count;  // of arrivals
    unsigned placed; // of them, chunks that are new
};

// `arrival` is the first of `count`, two at least, and was placed as a first transmission from `source` in `op`. Takes
// those behind it that are more of the same. by_lane: what a lane says of the first, and so on; NULL: nothing.
// land: of chunks whose payload stands in its place.
struct co_run_taken co_chunk_run_place(struct co_mcast_op *op, int source, const struct co_arrival *arrival,
                                       unsigned count, const struct co_lane_datagram *by_lane);
struct co_run_taken co_chunk_run_land(struct co_mcast_op *op, int source, const struct co_arrival *arrival,
                                      unsigned count);

#endif
