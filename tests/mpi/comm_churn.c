// SPDX-License-Identifier: BSD-3-Clause
// Ten thousand communicators made and freed in a row (the first argument says how many), so
// that the native library hands out the same handle again and again for another communicator.
// Some are used, some not, some are split into other members under the same handle.
// ranks: 3
// arguments: 10000
// expect: right bytes on each of them, no growth that ends the run
// taken: MPI_Bcast MPI_Allgather
#include "oracle/verdict.h"

#include <stdlib.h>

static void broadcast(MPI_Comm comm, int round)
{
    int data[40] = {0};
    int rank;
    int size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int root = round % size;
    uint64_t seed = co_test_seed(0, round, sizeof data);
    if (rank == root) {
        co_test_pattern_fill(data, sizeof data, seed);
    }
    MPI_Bcast(data, 40, MPI_INT, root, comm);
    co_test_received(data, sizeof data, seed, "round %d, broadcast from %d of %d", round, root, size);
}

static void gather(MPI_Comm comm, int round)
{
    int gathered[64];
    int size;
    int mine = co_test_rank() + 10 * round;
    MPI_Comm_size(comm, &size);
    MPI_Allgather(&mine, 1, MPI_INT, gathered, 1, MPI_INT, comm);
    co_test_absorb(gathered, (size_t)size * sizeof(int));
    for (int r = 0; size == co_test_size() && r < size; r++) {
        co_test_expect(gathered[r] == r + 10 * round, "round %d: block %d is %d", round, r, gathered[r]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int rounds = argc > 1 ? atoi(argv[1]) : 10000;
    for (int round = 0; round < rounds; round++) {
        MPI_Comm comm;
        if (round % 5 == 4) {
            MPI_Comm_split(MPI_COMM_WORLD, (co_test_rank() + round) % 2, round % 3, &comm);
        } else {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        }
        if (round % 4 != 3) {
            broadcast(comm, round);
        }
        if (round % 4 == 1) {
            gather(comm, round);
        }
        MPI_Comm_free(&comm);
    }
    broadcast(MPI_COMM_WORLD, rounds);
    return co_test_finish();
}
