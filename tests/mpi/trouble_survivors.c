// SPDX-License-Identifier: BSD-3-Clause
// Collectives one after the other until rank 0 finds a file that says the end, while somebody does harm to the network:
// each rank checks every byte and says how it ended, well or with an error of MPI. A file says when they are under way.
// Only for the laboratory with RDMA: tests/lab-verbs/castoff_verbs_test_inside.sh.
// ranks: 4
// modes: none
// arguments: 1000 /tmp
// expect: a line of each rank
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEGUN_AFTER 10 // operations

static int rank, ranks;

static int is_there(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void say_begun(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/begun", directory);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fclose(file);
    }
}

// The first byte of a block is for the end, the others tell rank and operation.
static unsigned char byte_of(int from, int operation, int at)
{
    return (unsigned char)(from * 31 + operation * 7 + at);
}

static int is_right(const unsigned char *all, int bytes, int operation)
{
    for (int from = 0; from < ranks; from++) {
        for (int at = 1; at < bytes; at++) {
            if (all[(size_t)from * (size_t)bytes + (size_t)at] != byte_of(from, operation, at)) {
                return 0;
            }
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    int bytes = argc > 1 ? atoi(argv[1]) : 1000, error = MPI_SUCCESS, is_over = 0, are_right = 1, operation = 0;
    const char *directory = argc > 2 ? argv[2] : "/tmp";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char *mine = malloc((size_t)bytes), *all = malloc((size_t)ranks * (size_t)bytes);
    while (!is_over && error == MPI_SUCCESS) {
        for (int at = 1; at < bytes; at++) {
            mine[at] = byte_of(rank, operation, at);
        }
        mine[0] = rank == 0 && operation > BEGUN_AFTER && is_there(directory, "end");
        memset(all, 0xee, (size_t)ranks * (size_t)bytes);
        error = MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (error == MPI_SUCCESS) {
            are_right = are_right && is_right(all, bytes, operation);
            is_over = all[0];
        }
        if (++operation == BEGUN_AFTER && rank == 0) {
            say_begun(directory);
        }
    }
    printf("rank %d: %s\n", rank, !are_right ? "wrong bytes" : error == MPI_SUCCESS ? "no error" : "an error");
    fflush(stdout);
    if (error != MPI_SUCCESS) {
        _exit(0); // MPI_Finalize may wait for who cannot be reached
    }
    MPI_Finalize();
    return 0;
}
