// SPDX-License-Identifier: BSD-3-Clause
// One rank of a node is killed, and a large broadcast fails on another one, which then uses its buffer for something
// else, before the third one comes to that broadcast. Nothing may be written there, and the third one may not take the
// new bytes for the broadcast's. 0: the one that fails receives, 1: it is the root.
// ranks: 3
// mpirun: --enable-recovery
// environment: CASTOFF_SHM_SINGLE_COPY=yes
// modes: on
// arguments: 0
// arguments: 1
// timeout: 20
// complaint: MPI_[A-Z][a-z]* failed: Connection reset by peer
// expect: the others end by themselves
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES (8 << 20)
#define DEAD 2
#define OURS_AGAIN 0x5a

// Such a job has no status of its own: who is wrong stays until the time is up.
static void fail(int rank, const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    for (;;) {
        pause();
    }
}

static int holds(const char *buffer, char byte)
{
    for (int i = 0; i < BYTES; i++) {
        if (buffer[i] != byte) {
            return 0;
        }
    }
    return 1;
}

static void fail_first(int rank, int other, int root, char *buffer)
{
    char word = 0;
    if (MPI_Bcast(buffer, BYTES, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS && rank != root) {
        fail(rank, "a broadcast of which nobody told");
    }
    memset(buffer, OURS_AGAIN, BYTES);
    MPI_Send(&word, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!holds(buffer, OURS_AGAIN)) {
        fail(rank, "its buffer was written after its broadcast had failed");
    }
}

static void come_late(int rank, int other, int root, char *buffer)
{
    char word = 0;
    MPI_Recv(&word, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int error = MPI_Bcast(buffer, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
    if (error == MPI_SUCCESS && rank != root && !holds(buffer, (char)(root + 1))) {
        fail(rank, "other bytes than the root gave");
    }
    MPI_Send(&word, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, root = 0, first = argc > 1 && atoi(argv[1]) == 1 ? 0 : 1;
    char *buffer = malloc(BYTES);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memset(buffer, rank + 1, BYTES);
    for (int i = 0; i < 3; i++) {
        MPI_Bcast(buffer, BYTES, MPI_BYTE, i, MPI_COMM_WORLD);
    }
    if (rank == DEAD) {
        kill(getpid(), SIGKILL);
    }
    memset(buffer, rank + 1, BYTES);
    if (rank == first) {
        fail_first(rank, !first, root, buffer);
    } else {
        come_late(rank, !rank, root, buffer);
    }
    _exit(0); // MPI_Finalize would wait for the dead
}
