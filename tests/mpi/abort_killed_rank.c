// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed by a signal in the middle of a stream of collectives: the others must not spin for
// ever, the job ends with the signal's status, and neither processes nor shared memory stay. Who gets an error for it
// waits for the launcher to end the job: one that it ended itself would have a status of its own.
// ranks: 3
// status: 137
// expect: job ends with status 137
#include <mpi.h>

#include <signal.h>
#include <unistd.h>

static char buffer[200000];
static char receive[600000];

static void require(int error)
{
    while (error != MPI_SUCCESS) {
        pause();
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 100000; i++) {
        MPI_Request request;
        require(MPI_Bcast(buffer, i % 10 == 0 ? (int)sizeof buffer : 10, MPI_CHAR, i % 3, MPI_COMM_WORLD));
        require(MPI_Iallgather(buffer, 2000, MPI_CHAR, receive, 2000, MPI_CHAR, MPI_COMM_WORLD, &request));
        if (i == 50 && rank == 1) {
            kill(getpid(), SIGKILL);
        }
        require(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    MPI_Finalize();
    return 0;
}
