// SPDX-License-Identifier: BSD-3-Clause
// MPI_IN_PLACE on some ranks and a send buffer on others in the same call (legal: it is a local matter),
// send count and type that must be ignored then, and back-to-back calls without synchronisation.
// ranks: 2 5
// expect: block r holds the ints of rank r, whatever the other ranks passed
// taken: MPI_Allgather MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>

#define LARGEST 3000

static int receive[LARGEST * 8];
static int send[LARGEST];

static void gather(int operation)
{
    size_t ints = (size_t)(operation * 53 % LARGEST);
    size_t bytes = ints * sizeof(int);
    uint64_t seed = co_test_seed(co_test_rank(), operation, bytes);
    int count = (int)ints;
    int *own = receive + ints * (size_t)co_test_rank();
    MPI_Request request = MPI_REQUEST_NULL;
    if ((operation + co_test_rank()) % 3 == 0) {
        co_test_pattern_fill(send, bytes, seed);
        MPI_Iallgather(send, count, MPI_INT, receive, count, MPI_INT, MPI_COMM_WORLD, &request);
    } else {
        // The send arguments are not significant, so anything may stand in them.
        co_test_pattern_fill(own, bytes, seed);
        MPI_Iallgather(MPI_IN_PLACE, 12345, MPI_DATATYPE_NULL, receive, count, MPI_INT, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + ints * (size_t)r, bytes, co_test_seed(r, operation, bytes), "operation %d: block %d",
                         operation, r);
    }
    seed = co_test_seed(co_test_rank(), -operation - 1, bytes);
    co_test_pattern_fill(own, bytes, seed);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, count, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + ints * (size_t)r, bytes, co_test_seed(r, -operation - 1, bytes),
                         "operation %d, blocking: block %d", operation, r);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int operation = 0; operation < 200; operation++) {
        gather(operation);
    }
    return co_test_finish();
}
