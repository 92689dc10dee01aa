// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed in a job whose launcher lets the others live. Who probes for its messages, blocking or not, waits
// for them or looks whether they have come, gets what it had sent, and then an error instead of silence.
// ranks: 3
// mpirun: --enable-recovery
// environment: CASTOFF_P2P=yes
// modes: on
// arguments: 0
// arguments: 1
// arguments: 2
// arguments: 3
// arguments: 4
// arguments: 5
// arguments: 6
// arguments: 7
// timeout: 20
// complaint: MPI_[A-Z][a-z]* failed: Connection reset by peer
// expect: the others end by themselves
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum kind { PROBE, MPROBE, IPROBE, IMPROBE, RECEIVE, TEST, TESTANY, TESTSOME };

#define DEAD 1
#define SENT 5

// The next message of the dead, whose number goes to `value`, or an error.
static int next(enum kind kind, int *value)
{
    int flag = 0, error = MPI_SUCCESS, index;
    MPI_Message message;
    MPI_Request request;
    switch (kind) {
    case PROBE:
        error = MPI_Probe(DEAD, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case IPROBE:
        while (!flag && error == MPI_SUCCESS) {
            error = MPI_Iprobe(DEAD, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        break;
    case MPROBE:
    case IMPROBE:
        while (!flag && error == MPI_SUCCESS) {
            flag = kind == MPROBE;
            error = kind == MPROBE ? MPI_Mprobe(DEAD, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE)
                                   : MPI_Improbe(DEAD, 1, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        }
        return error != MPI_SUCCESS ? error : MPI_Mrecv(value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    case TEST:
    case TESTANY:
    case TESTSOME:
        error = MPI_Irecv(value, 1, MPI_INT, DEAD, 1, MPI_COMM_WORLD, &request);
        while (!flag && error == MPI_SUCCESS) {
            error = kind == TEST      ? MPI_Test(&request, &flag, MPI_STATUS_IGNORE)
                    : kind == TESTANY ? MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE)
                                      : MPI_Testsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE);
        }
        return error;
    default:
        break;
    }
    return error != MPI_SUCCESS ? error
                                : MPI_Recv(value, 1, MPI_INT, DEAD, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Such a job has no status of its own: who is wrong stays until the time is up.
static void fail(int rank, const char *what, int value, int error)
{
    fprintf(stderr, "rank %d: %s: %d, error %d\n", rank, what, value, error);
    for (;;) {
        pause();
    }
}

int main(int argc, char **argv)
{
    int rank, value, error = MPI_SUCCESS;
    enum kind kind = argc > 1 ? (enum kind)atoi(argv[1]) : PROBE;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == DEAD) {
        for (int i = 0; i < SENT; i++) {
            MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Send(&i, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
        }
        kill(getpid(), SIGKILL);
    }
    for (int i = 0; i < SENT; i++) {
        value = -1;
        error = next(kind, &value);
        if (error != MPI_SUCCESS || value != i) {
            fail(rank, "another message than it had sent", value, error);
        }
    }
    error = next(kind, &value);
    if (error == MPI_SUCCESS) {
        fail(rank, "a message more than it had sent", value, error);
    }
    _exit(0); // MPI_Finalize would wait for the dead
}
