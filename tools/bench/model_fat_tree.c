// SPDX-License-Identifier: BSD-3-Clause
//
// Counts links for each algorithm on a fat tree of up to three levels, without walking all pairs: hosts are numbered
// along the leaves, so whole levels are counted at once. Pure. Cold.
#include "model_fat_tree.h"

#include <errno.h>
#include <stdbool.h>

int co_model_tree_make(struct co_model_tree *tree, uint64_t hosts, uint64_t radix)
{
    if (hosts == 0 || radix < 2 || radix % 2 || radix > 1024) {
        return -EINVAL;
    }
    uint64_t half = radix / 2;
    if (hosts > half * half * radix) {
        return -ERANGE;
    }
    tree->hosts = hosts;
    tree->leaf_hosts = hosts <= radix ? radix : half;
    tree->pod_hosts = hosts <= radix ? radix : hosts <= half * radix ? half * radix : half * half;
    return 0;
}

uint64_t co_model_distance(const struct co_model_tree *tree, uint64_t from, uint64_t to)
{
    if (from == to) {
        return 0;
    }
    if (from / tree->leaf_hosts == to / tree->leaf_hosts) {
        return 2;
    }
    return from / tree->pod_hosts == to / tree->pod_hosts ? 4 : 6;
}

static uint64_t groups_of(uint64_t hosts, uint64_t size)
{
    return (hosts + size - 1) / size;
}

// Ordered pairs within groups of `size` consecutive hosts.
static uint64_t pairs_within(uint64_t hosts, uint64_t size)
{
    uint64_t rest = hosts % size;
    return hosts / size * size * (size - 1) + (rest ? rest * (rest - 1) : 0);
}

static uint64_t links_linear(const struct co_model_tree *tree, enum co_model_collective collective)
{
    uint64_t hosts = tree->hosts;
    if (collective == CO_MODEL_ALLGATHER) {
        uint64_t leaf = pairs_within(hosts, tree->leaf_hosts);
        uint64_t pod = pairs_within(hosts, tree->pod_hosts);
        return 2 * leaf + 4 * (pod - leaf) + 6 * (hosts * (hosts - 1) - pod);
    }
    uint64_t sum = 0;
    for (uint64_t host = 1; host < hosts; host++) {
        sum += co_model_distance(tree, 0, host);
    }
    return sum;
}

// From each host to the next: 2 links, 2 more where a leaf ends, 2 more where a pod ends.
static uint64_t links_chain(const struct co_model_tree *tree)
{
    return 2 * (tree->hosts - 1) + 2 * (groups_of(tree->hosts, tree->leaf_hosts) - 1) +
           2 * (groups_of(tree->hosts, tree->pod_hosts) - 1);
}

static uint64_t links_ring(const struct co_model_tree *tree, enum co_model_collective collective)
{
    if (collective == CO_MODEL_BCAST) {
        return links_chain(tree);
    }
    // In each of hosts - 1 steps every host hands a block on; the last one's neighbour is the first.
    return (tree->hosts - 1) * (links_chain(tree) + co_model_distance(tree, tree->hosts - 1, 0));
}

static uint64_t links_doubling(const struct co_model_tree *tree, enum co_model_collective collective)
{
    uint64_t hosts = tree->hosts, sum = 0;
    bool is_allgather = collective == CO_MODEL_ALLGATHER;
    if (is_allgather && (hosts & (hosts - 1))) {
        return 0;
    }
    for (uint64_t bit = 1; bit < hosts; bit *= 2) {
        // Bcast: those below `bit` have the block and send it on; allgather: all exchange `bit` blocks.
        uint64_t senders = is_allgather ? hosts : bit;
        for (uint64_t host = 0; host < senders; host++) {
            uint64_t peer = host ^ bit;
            sum += peer < hosts ? co_model_distance(tree, host, peer) * (is_allgather ? bit : 1) : 0;
        }
    }
    return sum;
}

// Each link of the tree once: hosts, leaves up to their pod if there are several, pods up to the core likewise.
static uint64_t links_of_tree(const struct co_model_tree *tree)
{
    uint64_t leaves = groups_of(tree->hosts, tree->leaf_hosts);
    uint64_t pods = groups_of(tree->hosts, tree->pod_hosts);
    uint64_t links = tree->hosts > 1 ? tree->hosts : 0;
    if (pods > 1) {
        return links + leaves + pods;
    }
    return leaves > 1 ? links + leaves : links;
}

uint64_t co_model_links(const struct co_model_tree *tree, enum co_model_collective collective,
                        enum co_model_algorithm algorithm)
{
    switch (algorithm) {
    case CO_MODEL_LINEAR:
        return links_linear(tree, collective);
    case CO_MODEL_RING:
        return links_ring(tree, collective);
    case CO_MODEL_RECURSIVE_DOUBLING:
        return links_doubling(tree, collective);
    case CO_MODEL_MULTICAST:
        return links_of_tree(tree) * (collective == CO_MODEL_ALLGATHER ? tree->hosts : 1);
    case CO_MODEL_ALGORITHMS:
        break;
    }
    return 0;
}

double co_model_ring_over_multicast(uint64_t hosts)
{
    return hosts ? 2.0 - 2.0 / (double)hosts : 0;
}

const char *co_model_algorithm_text(enum co_model_algorithm algorithm)
{
    static const char *const texts[CO_MODEL_ALGORITHMS] = {"linear", "ring", "recursive doubling", "multicast"};
    return (unsigned)algorithm < CO_MODEL_ALGORITHMS ? texts[algorithm] : "unknown";
}
