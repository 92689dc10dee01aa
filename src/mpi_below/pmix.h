// SPDX-License-Identifier: BSD-3-Clause
//
// Who of the job runs with castoff? A rank without the preload would never join a collective of ours, so the question
// must be answered without one. Each rank leaves a mark with PMIx before the exchange that MPI_Init itself makes, which
// carries the marks to everybody; afterwards each rank reads all of them locally. Start only.
#ifndef CASTOFF_MPI_BELOW_PMIX_H
#define CASTOFF_MPI_BELOW_PMIX_H

#include <stdbool.h>

// Before the native MPI_Init: leaves the mark, or sees to it that it is left when that initializes PMIx.
void co_pmix_announce(void);

// After it: gives back what the announcement held. Whether the mark was left; false: there is no PMIx. *local_peers:
// the world ranks of this node, as the launcher has told each process and native's shared-memory split goes by it, too,
// "0,1,5"; to be freed. NULL: it does not tell.
bool co_pmix_settle(char **local_peers);

// The lowest world rank with a mark, or without one (or with that of another version); -1: there is none.
int co_pmix_first(int world_size, bool marked);

#endif
