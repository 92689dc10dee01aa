// SPDX-License-Identifier: BSD-3-Clause
//
// What Open MPI's mpirun, MPICH's mpiexec, whoever speaks PMIx, and srun without any of these put into the environment.
#include "base/launched_rank.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/settings.h"

// The launcher nearest to the rank comes first: a batch system may have started its daemons, whose numbers the rank
// inherits.
static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};

int co_launched_rank(void)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = co_environment(names[i]);
        if (rank != NULL && rank[0] >= '0' && rank[0] <= '9') {
            return atoi(rank);
        }
    }
    return -1;
}
