// SPDX-License-Identifier: BSD-3-Clause
//
// A bit of everything that castoff serves, for sanitized_test.sh. Says whether what came was right.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 100000

int main(int argc, char **argv)
{
    int rank, right = 1;
    MPI_Comm comm;
    MPI_Request requests[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    char *mine = malloc(BYTES), *other = malloc(BYTES), *both = malloc(2 * BYTES);
    for (int size = 1; size <= BYTES; size *= 10) {
        memset(mine, rank + size % 7, (size_t)size);
        MPI_Allgather(mine, size, MPI_CHAR, both, size, MPI_CHAR, comm);
        right &= both[size] == 1 + size % 7;
        MPI_Iallgather(mine, size, MPI_CHAR, both, size, MPI_CHAR, comm, &requests[0]);
        MPI_Irecv(other, size, MPI_CHAR, 1 - rank, 0, comm, &requests[1]);
        MPI_Isend(mine, size, MPI_CHAR, 1 - rank, 0, comm, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        right &= both[size] == 1 + size % 7 && other[size - 1] == 1 - rank + size % 7;
        MPI_Bcast(mine, size, MPI_CHAR, 0, comm);
        right &= mine[size - 1] == size % 7;
    }
    MPI_Comm_free(&comm);
    free(mine);
    free(other);
    free(both);
    printf("%d %s\n", rank, right ? "right" : "wrong");
    MPI_Finalize();
    return 0;
}
