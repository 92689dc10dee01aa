// SPDX-License-Identifier: BSD-3-Clause
// Both halves of a split at work at the same time, with different sizes, roots and numbers of calls, while
// operations on the whole communicator are pending. Identities that come from counters of the process
// would let one half accept the other's chunks.
// ranks: 3 5
// expect: each half has its own bytes
// taken: MPI_Bcast MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 90001

static unsigned char buffer[LARGEST];
static unsigned char gathered[LARGEST * 5];
static unsigned char whole_send[LARGEST];
static unsigned char whole[LARGEST * 5];

static void use_half(MPI_Comm half, int color, int round)
{
    int rank;
    int size;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    // The second half makes twice as many calls.
    for (int call = 0; call < 20 * (color + 1); call++) {
        size_t bytes = (size_t)(call * 977 + color * 3000 + round) % 9000;
        int root = call % size;
        uint64_t seed = co_test_seed(root + 100 * color, call + 1000 * round, bytes);
        memset(buffer, 0xEE, bytes);
        if (rank == root) {
            co_test_pattern_fill(buffer, bytes, seed);
        }
        MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, half);
        co_test_received(buffer, bytes, seed, "half %d, broadcast %d", color, call);
    }
    size_t bytes = LARGEST - (size_t)(color * 1000);
    MPI_Request request;
    co_test_pattern_fill(buffer, bytes, co_test_seed(rank + 100 * color, round, bytes));
    MPI_Iallgather(buffer, (int)bytes, MPI_BYTE, gathered, (int)bytes, MPI_BYTE, half, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++) {
        co_test_received(gathered + (size_t)r * bytes, bytes, co_test_seed(r + 100 * color, round, bytes),
                         "half %d, block %d", color, r);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm half;
    int color = co_test_rank() % 2;
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &half);
    for (int round = 0; round < 6; round++) {
        MPI_Request request;
        size_t bytes = round % 2 == 0 ? LARGEST : 40;
        co_test_pattern_fill(whole_send, bytes, co_test_seed(co_test_rank(), -round, bytes));
        MPI_Iallgather(whole_send, (int)bytes, MPI_BYTE, whole, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
        use_half(half, color, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < co_test_size(); r++) {
            co_test_received(whole + (size_t)r * bytes, bytes, co_test_seed(r, -round, bytes),
                             "round %d, block %d of all", round, r);
        }
    }
    MPI_Comm_free(&half);
    return co_test_finish();
}
