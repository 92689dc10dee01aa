// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts from each root in turn until some root finds a file that says the end, while somebody does harm to what
// carries them or kills a rank, whose process id stands in a file: each rank checks every byte and says how it ended,
// well or with an error of MPI. A file says when they are under way.
// Only for the laboratory with RDMA: tests/lab-verbs/onesided_test_inside.sh.
// ranks: 4
// modes: none
// arguments: 1000 /tmp
// expect: a line of each rank
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

static int is_there(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void write_number(const char *directory, const char *name, int number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%d\n", number);
        fclose(file);
    }
}

// The first byte is for the end, the others tell root and operation.
static unsigned char byte_of(int root, int operation, int at)
{
    return (unsigned char)(root * 31 + operation * 7 + at + (at >> 9));
}

static int is_right(const unsigned char *buffer, int bytes, int root, int operation)
{
    for (int at = 1; at < bytes; at++) {
        if (buffer[at] != byte_of(root, operation, at)) {
            return 0;
        }
    }
    return 1;
}

static void make(unsigned char *buffer, int bytes, int operation, const char *directory)
{
    for (int at = 1; at < bytes; at++) {
        buffer[at] = byte_of(rank, operation, at);
    }
    buffer[0] = operation > 1 && is_there(directory, "end");
}

int main(int argc, char **argv)
{
    int bytes = argc > 1 ? atoi(argv[1]) : 1000, error = MPI_SUCCESS, is_over = 0, are_right = 1, operation = 0;
    const char *directory = argc > 2 ? argv[2] : "/tmp";
    char name[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    snprintf(name, sizeof name, "pid.%d", rank);
    write_number(directory, name, (int)getpid());
    unsigned char *buffer = malloc((size_t)bytes);
    while (!is_over && error == MPI_SUCCESS) {
        int root = operation % ranks;
        if (rank == root) {
            make(buffer, bytes, operation, directory);
        } else {
            memset(buffer, 0xee, (size_t)bytes);
        }
        error = MPI_Bcast(buffer, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        if (error == MPI_SUCCESS) {
            are_right = are_right && is_right(buffer, bytes, root, operation);
            is_over = buffer[0];
        }
        if (++operation == 1 && rank == 0) {
            write_number(directory, "begun", operation);
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
