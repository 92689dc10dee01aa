// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that talk between two groups, the even and the odd ones: to whom they have as a peer there, in a duplicate of
// that communicator, and around the ring when both are one again. An even number of ranks.
#include <mpi.h>

static void exchange(MPI_Comm comm, int to, int from, int tag)
{
    int out = tag, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, to, tag, &in, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
    if (in != tag) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, own, all;
    MPI_Comm half, between, again, both;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &own);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, ranks - 1 - rank % 2, 3, &between);
    MPI_Comm_dup(between, &again);
    MPI_Intercomm_merge(between, rank % 2, &both);
    exchange(between, own, own, 1);
    exchange(again, ranks / 2 - 1 - own, ranks / 2 - 1 - own, 2);
    MPI_Comm_rank(both, &own);
    MPI_Comm_size(both, &all);
    exchange(both, (own + 1) % all, (own + all - 1) % all, 3);
    MPI_Barrier(between);
    MPI_Comm_free(&both);
    MPI_Comm_free(&again);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    return MPI_Finalize();
}
