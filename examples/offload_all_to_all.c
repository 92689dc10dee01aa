// SPDX-License-Identifier: BSD-3-Clause
//
// A personalized all-to-all (S3: scatter-destination) in both ways of castoff_offload.h: by single sends and receives,
// 2 P commands a call, and by a recorded group, one command a call. Prints the time of a call by either, and exits 1 if
// a byte is wrong.
//
//     make examples && mpirun -n 4 build/examples/offload_all_to_all [BYTES_A_PAIR [CALLS]]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "castoff_offload.h"

static struct {
    struct castoff_offload_world *world;
    int rank, size;
    size_t bytes; // of a pair
    unsigned char *out, *in;
    struct castoff_offload_request **requests; // two for each rank
} all;

static int gather(void *arg, const void *mine, void *everything, size_t bytes)
{
    (void)arg;
    return MPI_Allgather(mine, (int)bytes, MPI_BYTE, everything, (int)bytes, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS
               ? 0
               : -1;
}

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, castoff_offload_why());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

// Each block says from whom to whom, and in which call.
static void blocks_fill(int call)
{
    memset(all.in, 0, (size_t)all.size * all.bytes);
    for (int i = 0; i < all.size; i++) {
        memset(all.out + (size_t)i * all.bytes, 100 * call + 10 * all.rank + i, all.bytes);
    }
}

static size_t wrong_bytes(int call)
{
    size_t wrong = 0;
    for (int i = 0; i < all.size; i++) {
        for (size_t byte = 0; byte < all.bytes; byte++) {
            wrong += all.in[(size_t)i * all.bytes + byte] != (unsigned char)(100 * call + 10 * i + all.rank);
        }
    }
    return wrong;
}

static struct castoff_offload_group *group_record(void)
{
    struct castoff_offload_group *group;
    must(castoff_offload_group_start(all.world, &group), "start");
    for (int i = 0; i < all.size; i++) {
        int to = (all.rank + i) % all.size, from = (all.rank - i + all.size) % all.size;
        must(castoff_offload_group_send(group, all.out + (size_t)to * all.bytes, all.bytes, to, 0), "send");
        must(castoff_offload_group_receive(group, all.in + (size_t)from * all.bytes, all.bytes, from, 0), "receive");
    }
    must(castoff_offload_group_end(group), "end");
    return group;
}

static void by_single_ones(void)
{
    for (int i = 0; i < all.size; i++) {
        int to = (all.rank + i) % all.size, from = (all.rank - i + all.size) % all.size;
        must(castoff_offload_send(all.world, all.out + (size_t)to * all.bytes, all.bytes, to, 0, &all.requests[2 * i]),
             "send");
        must(castoff_offload_receive(all.world, all.in + (size_t)from * all.bytes, all.bytes, from, 0,
                                     &all.requests[2 * i + 1]),
             "receive");
    }
    for (int i = 0; i < 2 * all.size; i++) {
        must(castoff_offload_wait(all.requests[i], NULL), "wait");
    }
}

static void by_a_group(struct castoff_offload_group *group)
{
    must(castoff_offload_group_call(group), "call");
    must(castoff_offload_group_wait(group, NULL), "wait for a group");
}

// *seconds: of a call. Returns the wrong bytes of all.
static size_t run(struct castoff_offload_group *group, int calls, double *seconds)
{
    size_t wrong = 0;
    *seconds = 0;
    for (int call = 0; call < calls; call++) {
        blocks_fill(call);
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        if (group != NULL) {
            by_a_group(group);
        } else {
            by_single_ones();
        }
        *seconds += (MPI_Wtime() - begin) / calls;
        wrong += wrong_bytes(call);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int calls = argc > 2 ? atoi(argv[2]) : 10;
    double single, grouped;

    all.bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 1 << 16;
    MPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &all.size);
    struct castoff_offload_job job = {
        .struct_bytes = sizeof job, .rank = all.rank, .size = all.size, .allgather = gather};
    must(castoff_offload_open(&all.world, &job), "open");
    all.out = malloc((size_t)all.size * all.bytes + 1);
    all.in = malloc((size_t)all.size * all.bytes + 1);
    all.requests = malloc(2 * (size_t)all.size * sizeof(struct castoff_offload_request *));
    struct castoff_offload_group *group = group_record();
    size_t wrong = run(NULL, calls, &single) + run(group, calls, &grouped);
    must(castoff_offload_group_free(group), "free");
    must(castoff_offload_close(all.world), "close");
    printf("rank %d of %d: %zu bytes a pair, %.1f us by single ones, %.1f us by a group, %zu bytes are wrong\n",
           all.rank, all.size, all.bytes, 1e6 * single, 1e6 * grouped, wrong);
    free(all.requests);
    free(all.in);
    free(all.out);
    MPI_Finalize();
    return wrong > 0;
}
