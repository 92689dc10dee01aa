// SPDX-License-Identifier: BSD-3-Clause
//
// There and back by single sends and receives of castoff_offload.h, between each even rank and the next odd one: the
// time of a message of each size, and whether all bytes came. The proxies move them; the ranks sleep in wait.
//
//     make examples && mpirun -n 2 build/examples/offload_ping_pong [MOST_BYTES [CALLS]]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "castoff_offload.h"

static int gather(void *arg, const void *mine, void *all, size_t bytes)
{
    (void)arg;
    return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, castoff_offload_why());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void send(struct castoff_offload_world *world, const void *memory, size_t bytes, int peer)
{
    struct castoff_offload_request *request;
    must(castoff_offload_send(world, memory, bytes, peer, 0, &request), "send");
    must(castoff_offload_wait(request, NULL), "wait for a send");
}

static void receive(struct castoff_offload_world *world, void *memory, size_t bytes, int peer)
{
    struct castoff_offload_request *request;
    size_t received;
    must(castoff_offload_receive(world, memory, bytes, peer, 0, &request), "receive");
    must(castoff_offload_wait(request, &received), "wait for a receive");
    must(received != bytes, "length");
}

static double exchange(struct castoff_offload_world *world, unsigned char *memory, size_t bytes, int calls)
{
    int rank = castoff_offload_rank(world), peer = rank ^ 1;
    double begin = MPI_Wtime();

    for (int call = 0; call < calls; call++) {
        if (rank % 2 == 0) {
            memset(memory, call, bytes);
            send(world, memory, bytes, peer);
            receive(world, memory, bytes, peer);
        } else {
            receive(world, memory, bytes, peer);
            send(world, memory, bytes, peer);
        }
        for (size_t i = 0; i < bytes; i++) {
            must(memory[i] != (unsigned char)call, "bytes");
        }
    }
    return (MPI_Wtime() - begin) / (2 * calls);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct castoff_offload_job job = {.struct_bytes = sizeof job, .allgather = gather};
    struct castoff_offload_world *world;
    size_t most = argc > 1 ? strtoull(argv[1], NULL, 0) : 1 << 20;
    int calls = argc > 2 ? atoi(argv[2]) : 10;

    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    must(castoff_offload_open(&world, &job), "open");
    unsigned char *memory = malloc(most + 1);
    if (job.rank < job.size / 2 * 2) { // the last one may have no partner
        for (size_t bytes = 1; bytes <= most; bytes *= 16) {
            double seconds = exchange(world, memory, bytes, calls);
            if (job.rank == 0) {
                printf("%10zu bytes  %10.1f us  right\n", bytes, 1e6 * seconds);
            }
        }
    }
    must(castoff_offload_close(world), "close");
    free(memory);
    MPI_Finalize();
    return 0;
}
