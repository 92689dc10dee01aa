// SPDX-License-Identifier: BSD-3-Clause
// Collectives go on until one of them fails, on a communicator that returns errors, or until rank 0 finds a file. Each
// rank says what came of it, and rank 0 in between that it goes on. Somebody else refuses datagrams meanwhile.
// Only for the laboratory, where networks can be cut: tests/lab/castoff_test_inside.sh.
// ranks: 4
// modes: none
// arguments: 8 /nonexistent
// expect: a line of each rank
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, bytes;
static unsigned char *mine, *all;
static bool is_wrong;

// Everybody gives bytes of his own; rank 0's first one says whether this is the last round.
static int go_round(int round, bool is_last)
{
    memset(mine, (rank + round) & 127, (size_t)bytes);
    mine[0] |= is_last ? 128 : 0;
    int error = MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 1; i < ranks * bytes && error == MPI_SUCCESS; i++) {
        is_wrong = is_wrong || all[i] != ((i / bytes + round) & 127);
    }
    if (error == MPI_SUCCESS) {
        int root = round % ranks;
        error = MPI_Bcast(mine, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        is_wrong =
            is_wrong || (error == MPI_SUCCESS && memcmp(mine + 1, all + root * bytes + 1, (size_t)bytes - 1) != 0);
    }
    return error;
}

int main(int argc, char **argv)
{
    int error = MPI_SUCCESS, class = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bytes = atoi(argv[1]);
    mine = calloc(1, (size_t)bytes);
    all = calloc((size_t)ranks, (size_t)bytes);
    for (int round = 0; error == MPI_SUCCESS && (all[0] & 128) == 0; round++) {
        bool speaks = rank == 0 && round % 100 == 99;
        if (speaks) {
            printf("rounds\n");
            fflush(stdout);
        }
        error = go_round(round, speaks && access(argv[2], F_OK) == 0);
    }
    MPI_Error_class(error, &class);
    printf("rank %d: %s\n", rank, is_wrong ? "wrong bytes" : class == MPI_SUCCESS ? "no error" : "an error");
    fflush(stdout);
    if (class != MPI_SUCCESS) {
        _exit(0); // MPI_Finalize would communicate
    }
    MPI_Finalize();
    return 0;
}
