// SPDX-License-Identifier: BSD-3-Clause
//
// From which size on a copy straight between two processes of the node is faster than one through shared memory. That
// hangs on caches, on what a call into the kernel costs, and on whether programs write their buffers anew, so it is
// measured when the node opens: by its first two ranks, in a few milliseconds, half of the copies from memory that was
// just written. Cold.
#ifndef CASTOFF_SHM_MEASURE_H
#define CASTOFF_SHM_MEASURE_H

#include <stdbool.h>

#include "shm/shm_judge.h"

struct co_shm_node;

// Collective over the node, which has single copy. False: nothing was measured, on any rank; *error is 0 or the
// exchange's. *measured is the same on all ranks. Nothing is begun after 3 ms and nobody waited for after 5.
bool co_shm_measure(struct co_shm_node *node, struct co_shm_measured *measured, int *error);

#endif
