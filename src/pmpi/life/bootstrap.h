// SPDX-License-Identifier: BSD-3-Clause
//
// What native MPI lends to the engine: exchanges over the job and over this node, and who shares a node with whom.
// Start and end only.
#ifndef CASTOFF_PMPI_LIFE_BOOTSTRAP_H
#define CASTOFF_PMPI_LIFE_BOOTSTRAP_H

#include "engine/engine.h"

// Makes the private communicators co_process.world, self and world_group. Collective over MPI_COMM_WORLD, so all
// ranks must be known to run castoff. 0 or -EIO.
int co_bootstrap_open(void);
void co_bootstrap_close(void);

// The ranks of the world that share our node, in order, and the place of this one among them.
struct co_node_ranks {
    int size, place;
    int *ranks; // room for all of the world, the caller's; where the launcher does not tell, only the first is known
};

// Local, by what the launcher has told, "0,1,5". False: it has not (NULL), or not of us, or this rank can make no group
// of them.
bool co_bootstrap_find_peers(struct co_node_ranks *node, const char *peers);

// Fills the engine's bootstrap; collective, and `is_known`, whether all ranks know their peers, is the same on all of
// them. What fails on this rank stands in the bootstrap, by which the others hear of it.
void co_bootstrap_fill(struct co_bootstrap *bootstrap, struct co_node_ranks *node, bool is_known);

#endif
