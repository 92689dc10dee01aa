// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between hosts over verbs. Private to src/engine; start-up only.
#ifndef CASTOFF_ENGINE_START_MESSAGES_VERBS_H
#define CASTOFF_ENGINE_START_MESSAGES_VERBS_H

struct co_engine;
struct co_rank_facts;

// Connections for messages between hosts on the same device: by this rank alone, after
// co_network_open_verbs.
void co_network_open_rc(struct co_engine *engine, struct co_rank_facts *mine);
// Once the network is agreed: they take the place of the MPI below on all ranks, or on none.
void co_network_choose_rc(struct co_engine *engine, const struct co_rank_facts *facts);

#endif
