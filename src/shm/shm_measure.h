// SPDX-License-Identifier: BSD-3-Clause
//
// From which size on a copy straight between two processes of the node is faster than one through shared memory. That
// hangs on caches, on what a call into the kernel costs, and on whether programs write their buffers anew, so it is
// measured when the node opens: by its first two ranks, in a few milliseconds, half of the copies from memory that was
// just written. Cold.
#ifndef CASTOFF_SHM_MEASURE_H
#define CASTOFF_SHM_MEASURE_H

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

// From which size on the straight copy is faster: between the last at which it was not and the next one, nearer to that
// where the two differed less. The smallest if it was faster at all, SIZE_MAX if it was not at the largest.
static inline size_t co_shm_straight_from(const struct co_shm_times times[CO_SHM_MEASURED_SIZES])
{
    for (unsigned i = CO_SHM_MEASURED_SIZES; i-- > 0;) {
        const struct co_shm_times *here = &times[i], *above = &times[i + 1];
        if (here->straight_ns != 0 && here->straight_ns < here->ring_ns) {
            continue;
        }
        if (i + 1 == CO_SHM_MEASURED_SIZES) {
            return SIZE_MAX;
        }
        if (here->straight_ns == 0 || here->ring_ns == 0) {
            return co_shm_measured_size(i + 1);
        }
        double slower = (double)(here->straight_ns - here->ring_ns) / (double)here->ring_ns;
        double faster = (double)(above->ring_ns - above->straight_ns) / (double)above->straight_ns;
        double gap = (double)(co_shm_measured_size(i + 1) - co_shm_measured_size(i));
        return co_shm_measured_size(i) + (size_t)(gap * slower / (slower + faster));
    }
    return co_shm_measured_size(0);
}

// Collective over the node, which has single copy. False: nothing was measured, on any rank; *error is 0 or the
// exchange's. `from` is the same on all ranks. 5 ms at most, where all ranks have their processors.
bool co_shm_measure(struct co_shm_node *node, size_t from[CO_SHM_WAYS], int *error);

#endif
