// SPDX-License-Identifier: BSD-3-Clause
//
// Cost model: how many links the blocks of a collective cross on a fat tree (S1, Khalilov et al., figure 2 and
// appendix B). The model published with S1 takes a hop whose destination number is smaller than its source's for a
// neighbour's (2 links) and adds a link to every multicast; here distance is symmetric. Pure. Cold.
#ifndef CASTOFF_TOOLS_BENCH_MODEL_FAT_TREE_H
#define CASTOFF_TOOLS_BENCH_MODEL_FAT_TREE_H

#include <stdint.h>

enum co_model_collective { CO_MODEL_BCAST, CO_MODEL_ALLGATHER };
enum co_model_algorithm {
    CO_MODEL_LINEAR,             // every source to every destination by itself
    CO_MODEL_RING,               // allgather: neighbour to neighbour; bcast: along the chain
    CO_MODEL_RECURSIVE_DOUBLING, // allgather: powers of two only; bcast: the binomial tree
    CO_MODEL_MULTICAST,          // copied by switches
    CO_MODEL_ALGORITHMS
};

struct co_model_tree {
    uint64_t hosts;
    uint64_t leaf_hosts; // under one leaf switch
    uint64_t pod_hosts;  // under one group of leaves joined by second-level switches
};

// Fewest levels of switches with `radix` ports that hold `hosts`: one switch (radix hosts), leaves and spines
// (radix^2 / 2), or leaves, pods and a core (radix^3 / 4). 0, -EINVAL (radix odd or under 2, no hosts), -ERANGE.
int co_model_tree_make(struct co_model_tree *tree, uint64_t hosts, uint64_t radix);

// Links between two hosts: 0, 2, 4 or 6.
uint64_t co_model_distance(const struct co_model_tree *tree, uint64_t from, uint64_t to);

// Sum over links of the blocks that cross each; a bcast has one block, an allgather one of every host. 0: the
// algorithm does not exist for this number of hosts.
uint64_t co_model_links(const struct co_model_tree *tree, enum co_model_collective collective,
                        enum co_model_algorithm algorithm);

// Closed form of ring over multicast on one switch: 2 - 2/P.
double co_model_ring_over_multicast(uint64_t hosts);

const char *co_model_algorithm_text(enum co_model_algorithm algorithm);

#endif
