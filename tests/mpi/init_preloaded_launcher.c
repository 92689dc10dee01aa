// SPDX-License-Identifier: BSD-3-Clause
// What users type first is LD_PRELOAD=... mpirun: the preload then reaches mpirun, the shell that starts
// the program, and the program. The first two never initialise MPI and must not notice.
// ranks: 2 3
// launcher: preloaded
// expect: right values
// taken: MPI_Bcast MPI_Allgather
#include "oracle/verdict.h"

int main(int argc, char **argv)
{
    static unsigned char buffer[50000];
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int root = 0; root < co_test_size(); root++) {
        uint64_t seed = co_test_seed(root, 1, sizeof buffer);
        if (co_test_rank() == root) {
            co_test_pattern_fill(buffer, sizeof buffer, seed);
        }
        MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, root, MPI_COMM_WORLD);
        co_test_received(buffer, sizeof buffer, seed, "broadcast from %d", root);
    }
    int mine = co_test_rank() * 3;
    int all[8];
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_expect(all[r] == r * 3, "block %d is %d", r, all[r]);
    }
    return co_test_finish();
}
