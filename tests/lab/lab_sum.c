// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI program of lab_test.sh: every rank contributes its number, rank 0 prints the ranks, their
// sum and in how many differently named hosts they ran. Started by stock mpirun across the hosts.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "";
    int rank, ranks, name_bytes, sum = 0, hosts = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(own, &name_bytes);

    char *names = malloc((size_t)ranks * sizeof(own));
    MPI_Allgather(own, sizeof(own), MPI_CHAR, names, sizeof(own), MPI_CHAR, MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        int seen = 0;
        for (int j = 0; j < i; j++) {
            seen |= strcmp(names + (size_t)i * sizeof(own), names + (size_t)j * sizeof(own)) == 0;
        }
        hosts += !seen;
    }
    if (rank == 0) {
        printf("ranks %d sum %d hosts %d\n", ranks, sum, hosts);
    }
    free(names);
    MPI_Finalize();
    return 0;
}
