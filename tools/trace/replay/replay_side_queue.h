// SPDX-License-Identifier: BSD-3-Clause
//
// One matcher's state of one rank's queue in one communicator: the matcher with room that grows, and nodes for the
// receives and messages in it. Private to the files of the matchers.
#ifndef CASTOFF_TOOLS_TRACE_REPLAY_SIDE_QUEUE_H
#define CASTOFF_TOOLS_TRACE_REPLAY_SIDE_QUEUE_H

#include "matching/matcher.h"
#include "tools/trace/replay/replay.h"
#include "tools/trace/replay/replay_queue.h"

struct co_side_node {
    struct co_match_node match;
    uint32_t slot;
};

// Nodes by slot; they stay where they are.
struct co_side_nodes {
    struct co_side_node **chunks;
    uint32_t count;
};

struct co_side_queue {
    struct co_matcher *matcher;
    void *memory;
    struct co_matcher_config config;
    struct co_side_nodes receives, messages;
    uint32_t posted, stored, filled; // filled: bins
    struct co_replay_step waiting[CO_REPLAY_LANES_MAX];
    uint32_t waiting_count;
};

// NULL: no memory. With so many bins.
struct co_side_queue *co_side_queue_open(uint32_t bins);
void co_side_queue_close(struct co_side_queue *queue);
// Room for so many more on either side: nothing stands in the matcher's lists. 0 or -ENOMEM.
int co_side_queue_make_room(struct co_side_queue *queue, uint32_t receives, uint32_t messages);
// The node of a slot, which stays where it is. NULL: no memory.
struct co_side_node *co_side_node_at(struct co_side_nodes *nodes, uint32_t slot);

#endif
