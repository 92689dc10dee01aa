// SPDX-License-Identifier: BSD-3-Clause
//
// A small program for other_mpi_test.sh, built for another family of MPI: the calls that castoff takes, and others that
// it looks at. Prints one line a rank.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, ranks, value, index;
    int all[16] = {0};
    MPI_Comm copy, half;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_rank(copy, &rank);
    MPI_Comm_size(copy, &ranks);
    MPI_Comm_split(copy, rank % 2, rank, &half);
    value = rank == 0 ? 41 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, copy);
    value += rank;
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, copy);
    MPI_Iallgather(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, copy, &requests[0]);
    MPI_Irecv(&index, 1, MPI_INT, MPI_PROC_NULL, 0, copy, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("rank %d of %d: %d %d\n", rank, ranks, all[0], all[ranks - 1]);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
