// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Ialltoall, MPI_Ibcast, MPI_Iallgather, the forms of unequal blocks in place, and persistent forms that are
// started twice, into memory that was never written before, of which each byte is looked at: for proxy_test.sh, under
// Valgrind's memcheck. Says how many bytes are wrong.
#include <mpi.h>
#include <mpi-ext.h> // MPIX_..._init
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 70001, RANKS_MOST = 16 };

static int rank, ranks, wrong, counts[RANKS_MOST], places[RANKS_MOST];

static unsigned char byte_of(int from, int to, int at)
{
    return (unsigned char)(7 * from + 3 * to + at);
}

static void look(const unsigned char *in, int from, int to)
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

static void blocks_look(const unsigned char *memory)
{
    for (int i = 0; i < ranks; i++) {
        look(memory + (size_t)i * BYTES, i, rank);
    }
}

// Each got the first block of all.
static void gathered_look(const unsigned char *memory)
{
    for (int i = 0; i < ranks; i++) {
        look(memory + (size_t)i * BYTES, i, 0);
    }
}

static void own_put(unsigned char *memory)
{
    for (int i = 0; i < BYTES; i++) {
        memory[(size_t)rank * BYTES + (size_t)i] = byte_of(rank, 0, i);
    }
}

static void exchange(const unsigned char *out)
{
    unsigned char *in = blocks_make(0), *own = blocks_make(1), *told = blocks_make(rank == 0);
    MPI_Request requests[3];

    MPI_Ialltoall(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, MPI_COMM_WORLD, &requests[0]);
    MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, own, counts, places, MPI_BYTE, MPI_COMM_WORLD,
                   &requests[1]);
    MPI_Ibcast(told, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    blocks_look(in);
    blocks_look(own);
    look(told, 0, 0);
    free(in);
    free(own);
    free(told);
}

static void gather(const unsigned char *out)
{
    unsigned char *in = blocks_make(0), *own = blocks_make(0);
    MPI_Request requests[2];

    own_put(own);
    MPI_Iallgather(out, BYTES, MPI_BYTE, in, BYTES, MPI_BYTE, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, own, counts, places, MPI_BYTE, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    gathered_look(in);
    gathered_look(own);
    free(in);
    free(own);
}

static void persist(const unsigned char *out)
{
    unsigned char *in[4];
    MPI_Request requests[4];

    for (int i = 0; i < 4; i++) {
        in[i] = blocks_make(i == 3 && rank == 0);
    }
    own_put(in[2]);
    MPIX_Alltoall_init(out, BYTES, MPI_BYTE, in[0], BYTES, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPIX_Allgather_init(out, BYTES, MPI_BYTE, in[1], BYTES, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPIX_Allgatherv_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in[2], counts, places, MPI_BYTE, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &requests[2]);
    MPIX_Bcast_init(in[3], BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        blocks_look(in[0]);
        gathered_look(in[1]);
        gathered_look(in[2]);
        look(in[3], 0, 0);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&requests[i]);
        free(in[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > RANKS_MOST) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < ranks; i++) {
        counts[i] = BYTES;
        places[i] = i * BYTES;
    }
    unsigned char *out = blocks_make(1);
    exchange(out);
    gather(out);
    persist(out);
    free(out);
    printf("rank %d: %d bytes are wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
