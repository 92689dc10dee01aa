// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed by a signal in the middle of a stream of collectives: the others must not spin for
// ever, the job ends with the signal's status, and neither processes nor shared memory stay.
// ranks: 3
// status: 137
// expect: job ends with status 137
#include <mpi.h>

#include <signal.h>
#include <unistd.h>

static char buffer[200000];
static char receive[600000];

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100000; i++) {
        MPI_Request request;
        MPI_Bcast(buffer, i % 10 == 0 ? (int)sizeof buffer : 10, MPI_CHAR, i % 3, MPI_COMM_WORLD);
        MPI_Iallgather(buffer, 2000, MPI_CHAR, receive, 2000, MPI_CHAR, MPI_COMM_WORLD, &request);
        if (i == 50 && rank == 1) {
            kill(getpid(), SIGKILL);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
