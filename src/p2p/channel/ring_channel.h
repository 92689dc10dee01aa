// SPDX-License-Identifier: BSD-3-Clause
//
// The channel between ranks of one node: a ring in shared memory for each ordered pair.
#ifndef CASTOFF_P2P_CHANNEL_RING_CHANNEL_H
#define CASTOFF_P2P_CHANNEL_RING_CHANNEL_H

#include "p2p/channel/channel.h"
#include "p2p/channel/ring.h"

struct co_ring_channel_config {
    uint64_t job_key; // names the segment
    unsigned number;  // likewise, different for every segment of the job on this kernel
    int rank, size;   // within the node; peers are numbered so
    size_t memory;    // of the whole node, at most
    bool is_deep;     // who reads may not run while who writes does: room for what is written until they take turns
    size_t credit;    // bytes that a sender may have waiting at its receiver: told in steps of an eighth
};

// Together the ranks of a node open it in three local steps, with the least of each word that they say exchanged
// between. -ENOSPC: so many ranks do not get rings of a useful size out of `memory`, or /dev/shm is too small.
#define CO_RING_CHANNEL_WORDS 2
struct co_channel *co_ring_channel_make(const struct co_ring_channel_config *config, int words[]); // NULL: no memory
int co_ring_channel_map(struct co_channel *channel, const int words[]);                            // 0 or -errno
// With the least of what all could. NULL: not open, on no rank. Leaves no name behind.
struct co_channel *co_ring_channel_settle(struct co_channel *channel, int status);

// Of each ring; no area: they do not fit.
struct co_ring_shape co_ring_channel_shape(size_t memory, int size, bool is_deep);

#endif
