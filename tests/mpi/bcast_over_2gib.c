// SPDX-License-Identifier: BSD-3-Clause
// A broadcast and an allgather of little more bytes than an int counts, each in one call, through a datatype of 1 MiB.
// Every byte is compared; the digest takes samples, since the time of this program is that of its passes over memory.
// ranks: 2
// memory: 7
// long: yes
// modes: native on faults
// environment: CASTOFF_STALL_S=120
// timeout: 300
// expect: right bytes beyond the 2 GiB border
// taken: MPI_Bcast MPI_Allgather
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MEBIBYTE ((size_t)1 << 20)
#define BLOCKS 2050
#define SAMPLE_EVERY (64 * MEBIBYTE)

_Static_assert(BLOCKS *MEBIBYTE > INT_MAX, "more than an int counts");

// Large pages, or the kernel would take longer for the memory than the test for its bytes.
static unsigned char *allocate(size_t bytes)
{
    unsigned char *buffer = aligned_alloc(2 * MEBIBYTE, bytes);
    if (buffer != NULL) {
        madvise(buffer, bytes, MADV_HUGEPAGE); // refused, it is only slower
    }
    return buffer;
}

static void check(const unsigned char *buffer, size_t bytes, uint64_t seed, const char *what)
{
    size_t at = co_test_pattern_mismatch(buffer, bytes, seed);
    co_test_expect(at == bytes, "%s: byte %zu of %zu differs", what, at, bytes);
    for (size_t sample = 0; sample < bytes; sample += SAMPLE_EVERY) {
        co_test_absorb(buffer + sample, 4096);
    }
    co_test_absorb(buffer + bytes - 4096, 4096);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    size_t bytes = BLOCKS * MEBIBYTE;
    unsigned char *buffer = allocate(bytes);
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
    check(buffer, bytes, seed, "broadcast");
    int own = BLOCKS / co_test_size();
    size_t block = (size_t)own * MEBIBYTE;
    co_test_pattern_fill(buffer + block * (size_t)co_test_rank(), block, co_test_seed(co_test_rank(), 2, block));
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, own, mebibyte, MPI_COMM_WORLD);
    for (int r = 0; r < co_test_size(); r++) {
        check(buffer + block * (size_t)r, block, co_test_seed(r, 2, block), "allgather");
    }
    MPI_Type_free(&mebibyte);
    free(buffer);
    return co_test_finish();
}
