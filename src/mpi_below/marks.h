// SPDX-License-Identifier: BSD-3-Clause
//
// Who of the job runs with castoff? A rank without the preload would never join a collective of ours, so the question
// must be answered without one. Each rank leaves a mark with its launcher before the exchange that MPI_Init itself
// makes; afterwards each rank reads all of them, locally where that exchange carries them to everybody. Start only.
#ifndef CASTOFF_MPI_BELOW_MARKS_H
#define CASTOFF_MPI_BELOW_MARKS_H

#include <stdbool.h>

#include "mpi_below/abi.h"

// Ranks of different marks must not meet: raise it when the exchanges at start change.
#define CO_MARK 6

struct co_marks {
    // Before the native MPI_Init: leaves the mark, or sees to it that it is left meanwhile.
    void (*announce)(void);
    // After it: gives back what the announcement held. Whether the mark was left; false: the launcher takes none.
    // *local_peers: the world ranks of this node, as the launcher has told each process and native's shared-memory
    // split goes by it, too, "0,1,5"; to be freed. NULL: it does not tell.
    bool (*settle)(char **local_peers);
    // How many programs the job has, by what all ranks with a mark have left. 0: the launcher's variables tell, or
    // nobody does. NULL: the same.
    int (*programs)(int world_size);
    // The lowest world rank with a mark, or without one (or with that of another version); -1: there is none.
    int (*first)(int world_size, bool marked);
    const char *complaint; // what is wrong and what to do, where the launcher takes none
};

// Of the launchers that go with the MPI of this build.
#ifdef OPEN_MPI
#define CO_MARKS co_marks_pmix
#else
#define CO_MARKS co_marks_pmi
#endif
extern const struct co_marks CO_MARKS;

#endif
