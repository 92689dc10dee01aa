// SPDX-License-Identifier: BSD-3-Clause
//
// Which ranks share a node, from what each says of itself: the same running kernel, and the same networks and process
// numbers, without which a proxy reaches nobody. Set-up only; any thread.
#ifndef CASTOFF_OFFLOAD_API_OFFLOAD_NODES_H
#define CASTOFF_OFFLOAD_API_OFFLOAD_NODES_H

#include "offload/api/offload_world.h"
#include "offload/offload_job.h"

enum { CO_OFFLOAD_NETWORKS = 8 };

// Of one rank; all bytes are set, so that it can be sent.
struct co_offload_fact {
    char host[CO_OFFLOAD_PLACE_BYTES]; // its name, for messages
    struct {
        uint32_t address, mask;           // IPv4, as on the wire
    } at[CO_OFFLOAD_NETWORKS];            // its networks; all zero: no more
    uint32_t node_ranks;                  // CASTOFF_NODE_RANKS: rank 0's counts
    uint32_t node_proxies;                // CASTOFF_PROXIES, likewise; 0 is 1
    char boot[40];                        // random, since the kernel runs
    uint64_t networks, process_numbers;   // of its namespaces
    uint32_t process;                     // its number
    int32_t error;                        // it cannot be part of a world,
    char why[CO_OFFLOAD_WHY_BYTES];       // and why
    uint8_t key[CO_OFFLOAD_KEY_BYTES];    // rank 0's is the job's
    uint8_t cores[CO_OFFLOAD_CORE_BYTES]; // it may run on
};

// This process, with networks of that interface alone, unless it is empty; `error`, `key`, `node_ranks` and
// `node_proxies` are left.
// -errno: it cannot be known.
int co_offload_fact_read(struct co_offload_fact *fact, const char *interface);
// The first of the ranks that have `rank`'s proxy: those of a node, or, where it has K proxies, each K-th of them.
int co_offload_node_first(const struct co_offload_fact *facts, int rank);
// Where the proxy of that first rank's node listens for the others': the address whose network has most of the other
// nodes, with other addresses, at that port. "": it has none.
void co_offload_node_place(const struct co_offload_fact *facts, int size, int first, uint16_t port,
                           char place[CO_OFFLOAD_PLACE_BYTES]);
// The job as a proxy of `rank`'s node has it: self, proxies, ranks and rank_cores are filled in, and what is said of
// each rank.
void co_offload_node_describe(const struct co_offload_fact *facts, int size, int rank, struct co_offload_job *job,
                              struct co_offload_job_rank *ranks);

#endif
