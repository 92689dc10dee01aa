// SPDX-License-Identifier: BSD-3-Clause
// Halves of a job that meet by MPI_Open_port, MPI_Comm_accept and MPI_Comm_connect: what crosses the intercommunicator,
// and what is made of it, down to a communicator of one half alone, carries messages and collectives while those of the
// job do.
// ranks: 2 4
// environment: CASTOFF_P2P=yes
// expect: right values on each of them
#include "oracle/verdict.h"

#include <stdlib.h>

enum { LEADERS_TAG = 1, ROUNDS = 4 };

// Two halves whose leaders are ranks 0 and 1 of the job.
static MPI_Comm meet(MPI_Comm half, int color)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm across;
    if (co_test_rank() == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, 1, LEADERS_TAG, MPI_COMM_WORLD);
    } else if (co_test_rank() == 1) {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, LEADERS_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (color == 0) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &across);
    } else {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &across);
    }
    if (co_test_rank() == 0) {
        MPI_Close_port(port);
    }
    return across;
}

// Each member's number in the job, by an allgather; each root's, by broadcasts; the neighbour's, by a message.
static void use(MPI_Comm comm, const char *what)
{
    int size, rank, mine = 100 + co_test_rank(), previous = -1;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    int *all = malloc((size_t)size * sizeof *all);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
    co_test_expect(all[rank] == mine, "%s: block %d is %d", what, rank, all[rank]);
    for (int root = 0; root < size; root++) {
        int word = rank == root ? mine : -1;
        MPI_Request request;
        MPI_Bcast(&word, 1, MPI_INT, root, comm);
        co_test_expect(word == all[root], "%s: %d from root %d", what, word, root);
        word = rank == root ? mine : -1;
        MPI_Ibcast(&word, 1, MPI_INT, root, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_test_expect(word == all[root], "%s: %d from root %d, nonblocking", what, word, root);
    }
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 2, &previous, 1, MPI_INT, (rank + size - 1) % size, 2, comm,
                 MPI_STATUS_IGNORE);
    co_test_expect(previous == all[(rank + size - 1) % size], "%s: %d from the neighbour", what, previous);
    free(all);
}

static void use_across(MPI_Comm across, int color)
{
    int rank, theirs = -1, mine = 100 + co_test_rank(), word = color == 0 ? mine : -1;
    MPI_Request requests[2];
    MPI_Comm_rank(across, &rank);
    MPI_Bcast(&word, 1, MPI_INT, color == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, across);
    co_test_expect(word == (color == 0 ? mine : 100), "across: %d", word);
    MPI_Irecv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, across, &requests[0]);
    MPI_Isend(&mine, 1, MPI_INT, rank, 3, across, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    co_test_expect(theirs == mine + (color == 0 ? 1 : -1), "across: %d from the other", theirs);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int color = co_test_rank() % 2;
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &half);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm across = meet(half, color), merged, copy, own;
        use_across(across, color);
        MPI_Intercomm_merge(across, color, &merged);
        use(merged, "merged");
        MPI_Comm_dup(merged, &copy);
        use(copy, "copy");
        MPI_Comm_split(merged, color, 0, &own);
        MPI_Comm_free(&merged);
        MPI_Comm_disconnect(&across);
        use(own, "own half");
        use(MPI_COMM_WORLD, "world");
        MPI_Comm_free(&own);
        use(copy, "copy that is left");
        MPI_Comm_free(&copy);
    }
    MPI_Comm_free(&half);
    return co_test_finish();
}
