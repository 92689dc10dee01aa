// SPDX-License-Identifier: BSD-3-Clause
//
// Stands behind libcastoff.so and before the MPI library: on the rank that NO_GROUP_RANK names no group can be made of
// another one.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *made)
{
    const char *own = getenv("OMPI_COMM_WORLD_RANK"), *refused = getenv("NO_GROUP_RANK");
    int (*make)(MPI_Group, int, const int[], MPI_Group *);
    if (own != NULL && refused != NULL && strcmp(own, refused) == 0) {
        fprintf(stderr, "no group for rank %s\n", own);
        return MPI_ERR_NO_MEM;
    }
    *(void **)&make = dlsym(RTLD_NEXT, "PMPI_Group_incl");
    return make(group, count, ranks, made);
}
