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

// Whether the node has room for it; the same on all ranks.
bool co_shm_measure_is_possible(const struct co_shm_node *node);

// Local: what this rank needs for it. 0, too, where it has no part in it; -errno. *memory, NULL where it has no part,
// is the caller's to free, after an exchange that follows the next call.
int co_shm_measure_prepare(const struct co_shm_node *node, char **memory);

// Once all ranks are prepared, on each of them. -errno: the kernel refused. Where no rank says so, the header has the
// same answer for all after the next exchange; least size 0: none. Nothing is begun after 3 ms and nobody waited for
// after 5.
int co_shm_measure_run(struct co_shm_node *node, char *memory);

// In its place, where some rank could not be prepared. Both leave the staging as it was.
void co_shm_measure_cancel(struct co_shm_node *node, const char *memory);

#endif
