// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts and sends, then rank 1 waits in a broadcast for rank 0, which does not come before it can read a byte.
// Usage: mpirun -n 2 castoff_top_hang FIFO
#include <mpi.h>
#include <stdio.h>

static char bytes[4 << 20];

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(bytes, sizeof bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Send(bytes, 10, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
        FILE *fifo = argc > 1 ? fopen(argv[1], "r") : NULL;
        if (fifo != NULL) {
            getc(fifo);
            fclose(fifo);
        }
    } else if (rank == 1) {
        MPI_Recv(bytes, 10, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(bytes, sizeof bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
