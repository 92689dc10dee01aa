// SPDX-License-Identifier: BSD-3-Clause
//
// What it costs to find out which side is faster while the program runs: 10,000 calls of mixed sizes, blocks of ten of
// a kind in an order that chance gives, the same on every run. One line for each kind:
//   row CALL BYTES CALLS MICROSECONDS
// its blocks together, of each the time of the rank that took longest; a barrier, which is not counted, stands before
// each block. bench/figures/M46.sh compares runs of it: one that tries both sides, and one of each side alone.
//   mpirun -n 2 castoff run build/bench/regret [CALLS [BYTES...]]
#define _GNU_SOURCE
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 10, SIZES_MOST = 16 };

static size_t sizes[SIZES_MOST] = {8, 1024, 8192, 65536, 262144, 1048576};
static int size_count = 6;
static char *buffer;
static int rank, ranks;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static unsigned draw(unsigned below)
{
    static uint64_t state = 46;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % below;
}

static size_t bytes_of(unsigned kind)
{
    return sizes[kind / 2];
}

static void run_block(unsigned kind, int number)
{
    int bytes = (int)bytes_of(kind);
    for (int i = 0; i < BLOCK; i++) {
        if (kind % 2 == 0) {
            MPI_Bcast(buffer, bytes, MPI_BYTE, (number + i) % ranks, MPI_COMM_WORLD);
        } else {
            MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, bytes, MPI_BYTE, MPI_COMM_WORLD);
        }
    }
}

static void print_rows(const double *longest, const unsigned *kinds, int blocks)
{
    for (unsigned kind = 0; kind < 2 * (unsigned)size_count; kind++) {
        double sum = 0;
        int count = 0;
        for (int i = 0; i < blocks; i++) {
            if (kinds[i] == kind) {
                sum += longest[i];
                count += BLOCK;
            }
        }
        printf("row %s %zu %d %.1f\n", kind % 2 == 0 ? "bcast" : "allgather", bytes_of(kind), count, sum);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int blocks = (argc > 1 ? atoi(argv[1]) : 10000) / BLOCK;
    if (argc > 2) {
        size_count = argc - 2 < SIZES_MOST ? argc - 2 : SIZES_MOST;
    }
    size_t largest = 0;
    for (int i = 0; i < size_count; i++) {
        sizes[i] = argc > 2 ? (size_t)atol(argv[2 + i]) : sizes[i];
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    buffer = calloc((size_t)ranks, largest);
    double *took = calloc((size_t)blocks, sizeof *took), *longest = calloc((size_t)blocks, sizeof *longest);
    unsigned *kinds = calloc((size_t)blocks, sizeof *kinds);
    if (blocks < 1 || largest < 1 || largest > 1 << 30 || !buffer || !took || !longest || !kinds) {
        fputs("regret: too little memory, or a number that is none\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < blocks; i++) {
        kinds[i] = draw(2 * (unsigned)size_count);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us();
        run_block(kinds[i], i);
        took[i] = now_us() - start;
    }
    MPI_Reduce(took, longest, blocks, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        print_rows(longest, kinds, blocks);
    }
    MPI_Finalize();
    return 0;
}
