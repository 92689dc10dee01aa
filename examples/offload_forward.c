// SPDX-License-Identifier: BSD-3-Clause
//
// The broadcast of offload_ring.c without its barriers: each rank's proxy passes the bytes on as they come, so a long
// ring takes little longer than a short one. Ranks sleep for a second after the call and look at what they have before
// they wait: nothing of theirs was needed.
//
//     make examples && mpirun -n 4 build/examples/offload_forward [BYTES]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static struct castoff_offload_group *chain_record(struct castoff_offload_world *world, unsigned char *memory,
                                                  size_t bytes)
{
    struct castoff_offload_group *chain;
    int rank = castoff_offload_rank(world), last = castoff_offload_size(world) - 1;

    must(castoff_offload_group_start(world, &chain), "start");
    if (rank == 0 && last > 0) {
        must(castoff_offload_group_send(chain, memory, bytes, 1, 0), "send");
    } else if (rank > 0 && rank < last) {
        must(castoff_offload_group_forward(chain, memory, bytes, rank - 1, 0, rank + 1, 0), "forward");
    } else if (rank > 0) {
        must(castoff_offload_group_receive(chain, memory, bytes, rank - 1, 0), "receive");
    }
    must(castoff_offload_group_end(chain), "end");
    return chain;
}

static size_t right_bytes(const unsigned char *memory, size_t bytes)
{
    size_t right = 0;
    while (right < bytes && memory[right] == 42) {
        right++;
    }
    return right;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct castoff_offload_job job = {.struct_bytes = sizeof job, .allgather = gather};
    struct castoff_offload_world *world;
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 1 << 20;

    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    must(castoff_offload_open(&world, &job), "open");
    unsigned char *memory = malloc(bytes + 1);
    memset(memory, job.rank == 0 ? 42 : 0, bytes);
    struct castoff_offload_group *chain = chain_record(world, memory, bytes);
    must(castoff_offload_group_call(chain), "call");
    sleep(1);
    size_t early = right_bytes(memory, bytes);
    must(castoff_offload_group_wait(chain, NULL), "wait");
    size_t right = right_bytes(memory, bytes);
    must(castoff_offload_group_free(chain), "free");
    must(castoff_offload_close(world), "close");
    printf("rank %d of %d: %zu of %zu bytes before it waited, %zu afterwards\n", job.rank, job.size, early, bytes,
           right);
    free(memory);
    MPI_Finalize();
    return right != bytes;
}
