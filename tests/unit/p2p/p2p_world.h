// SPDX-License-Identifier: BSD-3-Clause
//
// Several ranks with point-to-point in one process, moved by the test: over real rings inside a node, and by a native
// MPI, or by connections, that the test plays between nodes.
#ifndef CASTOFF_TESTS_P2P_WORLD_H
#define CASTOFF_TESTS_P2P_WORLD_H

#include "p2p/p2p_open.h"

#define P2P_WORLD_MOST 4

struct p2p_world {
    int size;
    struct co_channel *channels[P2P_WORLD_MOST];        // inside the node, NULL: alone there
    struct co_channel *remote_channels[P2P_WORLD_MOST]; // between nodes, NULL: there is one
    struct co_p2p *ranks[P2P_WORLD_MOST];
    struct co_p2p_context *contexts[P2P_WORLD_MOST]; // of communicator 1, all ranks in order
    bool has_rc;
};

struct p2p_world_options {
    int size;
    size_t eager_most, credit;
    bool may_read; // each other's memory
    struct co_matcher_config matcher;
    uint32_t places_most; // that its tables grow to
    size_t buffered_most; // bytes of copies of small messages
    size_t memory;        // of all rings, 0: enough
    unsigned lanes;       // of the matcher, 0: one
    // Of a test that stands between a rank and a channel whose place 0 is rank `first`, and closes it; NULL: none does.
    struct co_channel *(*wrap)(struct co_channel *channel, int rank, int first);
    // Instead of reading for certain; NULL: none.
    int (*read)(void *arg, int peer, void *local, uint64_t remote, size_t bytes);
    size_t stream_most; // bytes that go in pieces though they could be read
    bool is_crowded;
    bool tries_streams;       // whether that is faster
    uint64_t patience_ns;     // with them
    uint64_t (*now_ns)(void); // NULL: the clock's
    int node_ranks;           // ranks of a node, 0: all
    size_t remote_eager_most, native_memory;
    bool has_rc; // connections (fake_rc.h) between nodes, not a native MPI
};

void p2p_world_open(struct p2p_world *world, const struct p2p_world_options *options);
void p2p_world_close(struct p2p_world *world);
int p2p_world_move(struct p2p_world *world, int rank); // events
// Until nothing moves any more.
void p2p_world_settle(struct p2p_world *world);

#endif
