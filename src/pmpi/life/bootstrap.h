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

// Finds the nodes and fills the engine's bootstrap; node_of_rank belongs to the caller (free). Collective; the answer
// is the same on all ranks. 0 or -errno.
int co_bootstrap_fill(struct co_bootstrap *bootstrap, int **node_of_rank);

#endif
