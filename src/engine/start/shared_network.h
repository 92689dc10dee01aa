// SPDX-License-Identifier: BSD-3-Clause
//
// The network that all hosts are on. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_SHARED_NETWORK_H
#define CASTOFF_ENGINE_START_SHARED_NETWORK_H

#include <stdint.h>

struct co_engine;
struct co_job_offer;

// Rank 0 writes its addresses to what it broadcasts; afterwards all ranks together (collective, if it has several) find
// the first of them to which all other hosts have a way, better without routers: network byte order, 0: none.
void co_shared_network_offer(struct co_job_offer *offer);
uint32_t co_shared_network_find(const struct co_engine *engine, const struct co_job_offer *offer);
// The choice, from the worst way (enum co_udp_way) of any host to each address: an index, -1 for none.
int co_shared_network_pick(const int *ways, int count);

#endif
