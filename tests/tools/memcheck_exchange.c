// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Ialltoall, MPI_Ialltoallv in place and MPI_Ibcast into memory that was never written before, of which each byte
// is looked at: for proxy_test.sh, under Valgrind's memcheck. Says how many bytes are wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 70001 };

static int rank, ranks, wrong;

static unsigned char byte_of(int from, int to, int at)
{
    return (unsigned char)(7 * from + 3 * to + at);
}

static void look(unsigned char *in, int from, int to)
{
    for (int i = 0; i < BYTES; i++) {
        wrong += in[i] != byte_of(from, to, i);
    }
}

static unsigned char *blocks_make(int is_filled)
{
    unsigned char *memory = malloc((size_t)ranks * BYTES);
    for (int i = 0; is_filled && i < ranks * BYTES; i++) {
        memory[i] = byte_of(rank, i / BYTES, i % BYTES);
    }
    return memory;
}

static void blocks_look(unsigned char *memory)
{
    for (int i = 0; i < ranks; i++) {
        look(memory + (size_t)i * BYTES, i, rank);
    }
    free(memory);
}

int main(int argc, char **argv)
{
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned char *out = blocks_make(1), *in = blocks_make(0);
    MPI_Ialltoall(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    blocks_look(in);
    int *counts = malloc((size_t)ranks * sizeof *counts), *places = malloc((size_t)ranks * sizeof *places);
    for (int i = 0; i < ranks; i++) {
        counts[i] = BYTES;
        places[i] = i * BYTES;
    }
    MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, counts, places, MPI_BYTE, MPI_COMM_WORLD,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    blocks_look(out);
    unsigned char *told = rank == 0 ? blocks_make(1) : malloc((size_t)ranks * BYTES);
    MPI_Ibcast(told, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    look(told, 0, 0);
    free(told);
    free(counts);
    free(places);
    printf("rank %d: %d bytes are wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
