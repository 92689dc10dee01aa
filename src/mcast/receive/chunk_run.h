// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Many chunks of a block at once (chunk_run.c).
#ifndef CASTOFF_MCAST_RECEIVE_CHUNK_RUN_H
#define CASTOFF_MCAST_RECEIVE_CHUNK_RUN_H

#include "mcast/endpoint.h"

// `arrival` is the first of `count`, and was placed as a first transmission from `source` in `op` (NULL:
// it was not). Takes those behind it that are more of the same; returns how many. land: of chunks whose payload stands
// in its place.
unsigned co_chunk_run_place(struct co_mcast_op *op, int source, const struct co_arrival *arrival, unsigned count);
unsigned co_chunk_run_land(struct co_mcast_op *op, int source, const struct co_arrival *arrival, unsigned count);

#endif
