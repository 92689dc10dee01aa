// SPDX-License-Identifier: BSD-3-Clause
// Two jobs on one host at the same time (the runner starts this program twice): same program, same ranks,
// same communicators and operation numbers. Neither may accept what belongs to the other; each
// sends bytes that depend on its job, so that a stray chunk shows.
// ranks: 3
// copies: 2
// expect: right bytes in both jobs
// taken: MPI_Bcast
#include "oracle/verdict.h"

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static unsigned char buffer[100000];
    MPI_Init(&argc, &argv);
    co_test_begin();
    int job = (int)getppid();
    MPI_Allreduce(MPI_IN_PLACE, &job, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    unsigned long wrong = 0;
    for (int i = 0; i < 400; i++) {
        size_t bytes = i % 20 == 19 ? sizeof buffer : (size_t)(i * 31 % 2000);
        int root = i % co_test_size();
        uint64_t seed = co_test_seed(root + job, i, bytes);
        if (co_test_rank() == root) {
            co_test_pattern_fill(buffer, bytes, seed);
        }
        MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        wrong += co_test_pattern_mismatch(buffer, bytes, seed) != bytes;
    }
    co_test_expect(wrong == 0, "%lu broadcasts wrong", wrong);
    return co_test_finish();
}
