// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts from each root and allgathers, large enough to be placed by RDMA writes where there is a coordinator
// (CASTOFF_COORDINATOR) and hosts with RDMA devices: tests/lab-verbs/onesided_test_inside.sh. Elsewhere they are set
// to be placed in vain, and go as ever. The arguments: bytes, broadcasts, allgathers.
// ranks: 3
// arguments: 1500000 5 2
// environment: CASTOFF_COORDINATOR=127.0.0.1:9 CASTOFF_COORDINATOR_SECRET=/nowhere/secret CASTOFF_PLACED_MIN=1M
// expect: every rank has every root's bytes
// taken: MPI_Bcast MPI_Allgather
// report: counters["onesided_broadcasts"] == 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

static void broadcast(unsigned char *buffer, size_t bytes, int operation)
{
    int root = operation % co_test_size();
    uint64_t seed = co_test_seed(root, operation, bytes);
    if (root == co_test_rank()) {
        co_test_pattern_fill(buffer, bytes, seed);
    } else {
        memset(buffer, 0xEE, bytes);
    }
    MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(buffer, bytes, seed, "broadcast %d of %zu bytes from %d", operation, bytes, root);
}

// In place every second time.
static void allgather(unsigned char *mine, unsigned char *all, size_t bytes, int operation)
{
    int is_in_place = operation % 2;
    unsigned char *own = is_in_place ? all + (size_t)co_test_rank() * bytes : mine;
    memset(all, 0xEE, (size_t)co_test_size() * bytes);
    co_test_pattern_fill(own, bytes, co_test_seed(co_test_rank(), operation, bytes));
    MPI_Allgather(is_in_place ? MPI_IN_PLACE : mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < co_test_size(); from++) {
        co_test_received(all + (size_t)from * bytes, bytes, co_test_seed(from, operation, bytes),
                         "allgather %d of %zu bytes, block %d", operation, bytes, from);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 1500000;
    int broadcasts = argc > 2 ? atoi(argv[2]) : 5, allgathers = argc > 3 ? atoi(argv[3]) : 0;
    unsigned char *mine = malloc(bytes), *all = malloc((size_t)co_test_size() * bytes);
    for (int operation = 0; operation < broadcasts; operation++) {
        broadcast(mine, bytes, operation);
    }
    for (int operation = 0; operation < allgathers; operation++) {
        allgather(mine, all, bytes, operation);
    }
    free(mine);
    free(all);
    return co_test_finish();
}
