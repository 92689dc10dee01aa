// SPDX-License-Identifier: BSD-3-Clause
// A broadcast and an allgather of more than 2 GiB in one call, through a datatype of 1 MiB. It needs
// 3 GiB of memory per rank, so it only runs when MPI_TEST_LARGE is set and not 0.
// ranks: 2
// timeout: 300
// expect: right bytes beyond the 2 GiB border
// taken: MPI_Bcast MPI_Allgather
#include "oracle/verdict.h"

#include <stdlib.h>

#define MEBIBYTE ((size_t)1 << 20)
#define BLOCKS 2100

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    const char *wanted = getenv("MPI_TEST_LARGE");
    if (wanted == NULL || *wanted == '\0' || *wanted == '0') {
        return co_test_skip("set MPI_TEST_LARGE=1 to run it; it needs 3 GiB per rank");
    }
    size_t bytes = BLOCKS * MEBIBYTE;
    unsigned char *buffer = malloc(bytes);
    if (buffer == NULL) {
        return co_test_skip("not enough memory");
    }
    MPI_Datatype mebibyte;
    MPI_Type_contiguous((int)MEBIBYTE, MPI_BYTE, &mebibyte);
    MPI_Type_commit(&mebibyte);
    int root = co_test_size() - 1;
    uint64_t seed = co_test_seed(root, 1, bytes);
    if (co_test_rank() == root) {
        co_test_pattern_fill(buffer, bytes, seed);
    }
    MPI_Bcast(buffer, BLOCKS, mebibyte, root, MPI_COMM_WORLD);
    co_test_received(buffer, bytes, seed, "broadcast");
    int own = BLOCKS / co_test_size();
    size_t block = (size_t)own * MEBIBYTE;
    co_test_pattern_fill(buffer + block * (size_t)co_test_rank(), block, co_test_seed(co_test_rank(), 2, block));
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, own, mebibyte, MPI_COMM_WORLD);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(buffer + block * (size_t)r, block, co_test_seed(r, 2, block), "allgather: block %d", r);
    }
    MPI_Type_free(&mebibyte);
    free(buffer);
    return co_test_finish();
}
