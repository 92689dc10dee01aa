// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed by a signal while the others wait for its messages, for its receives and for the rest of a long
// message: they must not spin for ever, the job ends with the signal's status, and neither processes nor shared memory
// stay. Who gets an error waits for the launcher to end the job. Two arguments: which wait, and whether by request.
// ranks: 3
// environment: CASTOFF_P2P=yes
// arguments: 0
// arguments: 1
// arguments: 2
// arguments: 3
// status: 137
// expect: job ends with status 137
#include <mpi.h>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGE (64 << 20)

static void require(int error)
{
    while (error != MPI_SUCCESS) {
        pause();
    }
}

int main(int argc, char **argv)
{
    int rank, kind = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Request request;
    char *buffer = calloc(1, LARGE);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 50; i++) {
        require(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % 3, 0, MPI_COMM_WORLD, &request));
        require(MPI_Recv(buffer, 1, MPI_INT, (rank + 2) % 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        require(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (rank == 1) {
        if (kind == 3) {
            MPI_Isend(buffer, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
            MPI_Isend(buffer, LARGE, MPI_CHAR, 2, 1, MPI_COMM_WORLD, &request);
        }
        kill(getpid(), SIGKILL);
    }
    switch (kind) {
    case 0:
        require(MPI_Recv(buffer, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case 1:
        require(MPI_Ssend(buffer, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
        break;
    case 2:
        for (;;) {
            require(MPI_Send(buffer, 1000, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
        }
    default:
        require(MPI_Irecv(buffer, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request));
        require(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    MPI_Finalize();
    return 0;
}
