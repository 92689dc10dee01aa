// SPDX-License-Identifier: BSD-3-Clause
//
// A broadcast around a ring, as the paper of castoff_offload.h has it (S3, listing of the group primitives), that goes
// on while all ranks compute: rank 0 sends to its right, the others receive from their left, then, behind a barrier of
// their own, send to their right. The last one does not send: nobody would receive it. It is recorded once and called
// again and again. Prints what was moved; exits 1 if a byte is wrong.
//
//     make examples && mpirun -n 4 build/examples/offload_ring [BYTES [CALLS]]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASTOFF_OFFLOAD_PAPER_NAMES
#include "castoff_offload.h"

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, castoff_offload_why());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static OffloadGroupRequest ring_record(unsigned char *memory, size_t bytes, int rank, int size)
{
    OffloadGroupRequest ring;

    must(Group_Offload_start(&ring), "Group_Offload_start");
    if (rank > 0) {
        must(Recv_Goffload(memory, bytes, &ring, rank - 1, 0), "Recv_Goffload");
        must(Local_barrier_Goffload(&ring), "Local_barrier_Goffload");
    }
    if (rank < size - 1) {
        must(Send_Goffload(memory, bytes, &ring, rank + 1, 0), "Send_Goffload");
    }
    must(Group_Offload_end(&ring), "Group_Offload_end");
    return ring;
}

// Something to do meanwhile.
static double compute(void)
{
    double sum = 0;
    for (int i = 1; i < 200000; i++) {
        sum += 1.0 / i;
    }
    return sum;
}

static size_t wrong_bytes(const unsigned char *memory, size_t bytes, int value)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        wrong += memory[i] != (unsigned char)value;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 1 << 20, wrong = 0;
    int calls = argc > 2 ? atoi(argv[2]) : 10;
    double sum = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(Init_Offload(), "Init_Offload");
    unsigned char *memory = malloc(bytes + 1);
    OffloadGroupRequest ring = ring_record(memory, bytes, rank, size);
    for (int call = 0; call < calls; call++) {
        memset(memory, rank == 0 ? call : 255, bytes);
        must(Group_Offload_call(&ring), "Group_Offload_call");
        sum += compute();
        must(Group_Wait(&ring), "Group_Wait");
        wrong += wrong_bytes(memory, bytes, call);
    }
    must(Group_Offload_free(&ring), "Group_Offload_free");
    must(Finalize_Offload(), "Finalize_Offload");
    printf("rank %d of %d: %d broadcasts of %zu bytes, %zu bytes are wrong (computed %.0f meanwhile)\n", rank, size,
           calls, bytes, wrong, sum);
    free(memory);
    MPI_Finalize();
    return wrong > 0;
}
