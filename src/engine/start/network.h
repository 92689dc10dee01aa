// SPDX-License-Identifier: BSD-3-Clause
//
// The network side of the start: sockets and the multicast protocol. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_NETWORK_H
#define CASTOFF_ENGINE_START_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

struct co_engine;
struct co_job_offer;
struct co_rank_facts;
struct co_udp_address;

// Whether the job has several nodes and may use what lies between them; the same on all ranks, also before they know
// which nodes there are.
bool co_network_is_wanted(const struct co_engine *engine);

// Collective: opens keys and sockets of this rank; the reason of a failure goes to engine->network.
int co_network_open(struct co_engine *engine, const struct co_job_offer *offer, struct co_udp_address *mine);

// Collective: connects, probes, agrees. Sets engine->has_multicast, or engine->network says why not.
void co_network_connect(struct co_engine *engine, struct co_rank_facts *facts);

// Undoes whatever is open.
void co_network_close(struct co_engine *engine);

// A rank's part of what its node may spend on staging. The first one speaks for the node in most communicators; the
// others do in those that it is no member of.
static inline size_t co_network_staging_bytes(size_t node_bytes, int node_rank, int node_size)
{
    if (node_size == 1) {
        return node_bytes;
    }
    return node_rank == 0 ? node_bytes / 2 : node_bytes / 2 / (size_t)(node_size - 1);
}

#endif
