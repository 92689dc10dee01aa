// SPDX-License-Identifier: BSD-3-Clause
// MPI_Abort by one rank while the others are in a collective that cannot complete: the job ends with the
// status given, and leaves nothing behind.
// ranks: 3
// arguments: bcast
// arguments: iallgather
// status: 41
// expect: job ends with status 41
#include <mpi.h>
#include <string.h>

static char send[300000];
static char receive[900000];

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(send, sizeof send, MPI_CHAR, 1, MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Abort(MPI_COMM_WORLD, 41);
    }
    if (argc > 1 && strcmp(argv[1], "bcast") == 0) {
        MPI_Bcast(send, sizeof send, MPI_CHAR, 2, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        MPI_Iallgather(send, sizeof send, MPI_CHAR, receive, sizeof send, MPI_CHAR, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
