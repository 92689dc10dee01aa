// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed in a job whose launcher lets the others live (--enable-recovery) and whose communicator
// returns errors: each of the others must get an error of MPI out of a collective, or with a second argument out of an
// exchange of messages with that rank, by a given size, and says so.
// Only for the laboratories, where a death is told across hosts: tests/lab/castoff_test_inside.sh.
// ranks: 4
// modes: none
// arguments: 8
// expect: a line of each survivor
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The last rank with each of the others in turn.
static int exchange(const char *mine, char *theirs, int bytes, int rank, int ranks)
{
    int first = rank == ranks - 1 ? 0 : ranks - 1, last = rank == ranks - 1 ? ranks - 2 : ranks - 1;
    int error = MPI_SUCCESS;
    for (int peer = first; peer <= last && error == MPI_SUCCESS; peer++) {
        error = MPI_Sendrecv(mine, bytes, MPI_CHAR, peer, 0, theirs, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    return error;
}

int main(int argc, char **argv)
{
    int rank, ranks, bytes = argc > 1 ? atoi(argv[1]) : 8, error = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    char *mine = calloc(1, (size_t)bytes), *all = calloc((size_t)ranks, (size_t)bytes);
    for (int i = 0; i < 100000 && error == MPI_SUCCESS; i++) {
        if (i == 50 && rank == ranks - 1) {
            kill(getpid(), SIGKILL);
        }
        error = argc > 2 ? exchange(mine, all, bytes, rank, ranks)
                         : MPI_Allgather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, MPI_COMM_WORLD);
    }
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    printf("rank %d: %s\n", rank, class == MPI_SUCCESS ? "no error" : "an error");
    fflush(stdout);
    _exit(0); // MPI_Finalize would wait for the dead
}
