// SPDX-License-Identifier: BSD-3-Clause
//
// Verbs in place of UDP. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_NETWORK_VERBS_H
#define CASTOFF_ENGINE_START_NETWORK_VERBS_H

struct co_engine;
struct co_job_offer;
struct co_rank_facts;

// After co_network_open, by this rank alone: tries the device of the same interface.
void co_network_open_verbs(struct co_engine *engine, const struct co_job_offer *offer, struct co_rank_facts *mine);
// By all that was told, so with the same answer everywhere: verbs takes the place of UDP where every rank has it. 0, or
// -errno: it was to, and cannot.
int co_network_choose_verbs(struct co_engine *engine, struct co_rank_facts *facts);
// On the ring of nodes the rank of the same place on the next node, in a direction (1, -1), that has one; -1: none.
int co_network_neighbour(const int *node_of_rank, const int *local_rank_of, int ranks, int nodes, int rank,
                         int direction);

#endif
