// SPDX-License-Identifier: BSD-3-Clause
// Misspelt names, values of the wrong type, out of range or empty: the job runs and says so on standard
// error of rank 0 (which the modes do not compare), an empty value counts as unset.
// ranks: 2
// environment: CASTOFF_BCATS=yes CASTOFF_STALL_S=soon CASTOFF_UDP_TTL=-5 CASTOFF_LOG= CASTOFF_UDP_MTU=1Q
// complaint: CASTOFF_BCATS.*CASTOFF_BCAST
// expect: right bytes
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static unsigned char buffer[30000];
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
    return co_test_finish();
}
