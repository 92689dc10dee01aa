// SPDX-License-Identifier: BSD-3-Clause
// The last rank is killed in a job whose launcher lets the others live (--enable-recovery) and whose communicator
// returns errors. Whoever waits for its messages or for its receives must come to an end, and says which. With a second
// argument nobody is killed: each says when it waits, the last one for rank 0, and somebody else cuts its host off.
// Only for the laboratory, where messages between hosts are carried: tests/lab/castoff_test_inside.sh.
// ranks: 4
// modes: none
// arguments: 0
// expect: a line of each survivor
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGE (32 << 20)

enum kind { RECEIVE, PROBE, TEST, LARGE_RECEIVE, SYNCHRONOUS, LARGE_SEND, FLOODED };

#define PAUSE_US 10000 // between messages of a flood: far less than between two looks for who is gone

static char *buffer;

// Rank 1 sends to rank 0, which does not receive it, until that one has its error.
static int flood(int rank, int dead)
{
    int flag = 0;
    while (rank == 1 && !flag) {
        MPI_Send(buffer, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
        MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(PAUSE_US);
    }
    if (rank == 1) {
        MPI_Recv(buffer, 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int error = MPI_Recv(buffer, 1, MPI_CHAR, dead, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) {
        MPI_Ssend(buffer, 1, MPI_CHAR, 1, 4, MPI_COMM_WORLD); // rank 1 has it before this one ends
    }
    return error;
}

// Nothing is sent to the dead: the MPI below may end the process that writes to a closed connection.
static int wait_for(enum kind kind, int rank, int dead, MPI_Request *sent)
{
    int error = MPI_SUCCESS, flag = 0;
    MPI_Request request;
    switch (kind) {
    case RECEIVE:
        return MPI_Recv(buffer, 1, MPI_CHAR, dead, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    case PROBE:
        return MPI_Probe(dead, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    case TEST:
        error = MPI_Irecv(buffer, 1, MPI_CHAR, dead, 1, MPI_COMM_WORLD, &request);
        while (!flag && error == MPI_SUCCESS) {
            error = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
        return error;
    case FLOODED:
        return flood(rank, dead);
    default:
        return MPI_Wait(sent, MPI_STATUS_IGNORE);
    }
}

// What is under way when it dies.
static void begin(enum kind kind, int dead, MPI_Request *request)
{
    switch (kind) {
    case LARGE_RECEIVE:
        MPI_Irecv(buffer, LARGE, MPI_CHAR, dead, 2, MPI_COMM_WORLD, request);
        break;
    case SYNCHRONOUS:
        MPI_Issend(buffer, 1, MPI_CHAR, dead, 1, MPI_COMM_WORLD, request);
        break;
    case LARGE_SEND:
        MPI_Isend(buffer, LARGE, MPI_CHAR, dead, 1, MPI_COMM_WORLD, request);
        break;
    default:
        *request = MPI_REQUEST_NULL;
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, class = MPI_SUCCESS;
    enum kind kind = argc > 1 ? (enum kind)atoi(argv[1]) : RECEIVE;
    MPI_Request request;
    buffer = calloc(1, LARGE);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 20; i++) { // all have spoken with all
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, 1, MPI_INT, MPI_COMM_WORLD);
        for (int away = 1; away < ranks; away++) {
            MPI_Sendrecv(&rank, 1, MPI_INT, (rank + away) % ranks, 0, buffer, 1, MPI_INT, (rank + ranks - away) % ranks,
                         0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank != ranks - 1) {
        begin(kind, ranks - 1, &request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1 && argc <= 2) {
        kill(getpid(), SIGKILL);
    }
    if (argc > 2) {
        printf("rank %d: waits\n", rank);
        fflush(stdout);
    }
    MPI_Error_class(rank == ranks - 1 ? MPI_Recv(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                                      : wait_for(kind, rank, ranks - 1, &request),
                    &class);
    printf("rank %d: %s\n", rank, class == MPI_SUCCESS ? "no error" : "an error");
    fflush(stdout);
    _exit(0); // MPI_Finalize would wait for the dead
}
