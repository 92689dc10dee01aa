// SPDX-License-Identifier: BSD-3-Clause
// A message that is too long under the default handler: the job is aborted with the class of the error as its exit
// status, as stock does it.
// ranks: 2
// environment: CASTOFF_P2P=yes
// arguments: wait
// arguments: recv
// status: 15
// expect: job aborted with status 15 (MPI_ERR_TRUNCATE)
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, values[4] = {0};
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Send(values, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(values, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // never comes
    } else if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        MPI_Irecv(values, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(values, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
