// SPDX-License-Identifier: BSD-3-Clause
//
// From which size on a copy straight between two processes of the node is faster than one through shared memory. That
// hangs on caches, on what a call into the kernel costs, and on whether programs write their buffers anew, so it is
// measured when the node opens: by its first two ranks, in a few milliseconds, half of the copies from memory that was
// just written. Cold.
#ifndef CASTOFF_MCAST_SHM_MEASURE_H
#define CASTOFF_MCAST_SHM_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_shm_node;

// What is copied: a message from one to the other; a block that both copy a half of; a block of each to the other.
enum co_shm_way { CO_SHM_WAY_MESSAGE, CO_SHM_WAY_BCAST, CO_SHM_WAY_ALLGATHER, CO_SHM_WAYS };

#define CO_SHM_MEASURED_SIZES 3 // 16, 64 and 256 KiB
#define CO_SHM_MEASURED_LEAST ((size_t)16 << 10)

struct co_shm_times {
    uint64_t ring_ns, straight_ns; // 0: not measured
};

static inline size_t co_shm_measured_size(unsigned index)
{
    return CO_SHM_MEASURED_LEAST << (2 * index);
}

// The smallest of the sizes from which on the straight copy was faster at all of them. SIZE_MAX: it was not at the
// largest.
static inline size_t co_shm_straight_from(const struct co_shm_times times[CO_SHM_MEASURED_SIZES])
{
    size_t from = SIZE_MAX;
    for (unsigned i = CO_SHM_MEASURED_SIZES; i-- > 0;) {
        if (times[i].straight_ns == 0 || times[i].straight_ns >= times[i].ring_ns) {
            break;
        }
        from = co_shm_measured_size(i);
    }
    return from;
}

// Collective over the node, which has single copy. False: nothing was measured, on any rank; *error is 0 or the
// exchange's. `from` is the same on all ranks. 5 ms at most, where all ranks have their processors.
bool co_shm_measure(struct co_shm_node *node, size_t from[CO_SHM_WAYS], int *error);

#endif
