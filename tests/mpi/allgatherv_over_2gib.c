// SPDX-License-Identifier: BSD-3-Clause
// An allgather of unequal blocks of more bytes in all than an int counts, through a datatype of 1 MiB: blocking, one
// block alone nearly all of it and behind a gap, and then a nonblocking one in place, whose counts change sides. Every
// byte is compared; the digest takes samples.
// ranks: 2
// memory: 7
// long: yes
// modes: native on faults
// timeout: 300
// expect: right bytes beyond the 2 GiB border, the gap untouched
// taken: MPI_Allgatherv MPI_Iallgatherv
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEBIBYTE ((size_t)1 << 20)
#define BLOCKS 2050
#define FEW 3
#define SAMPLE_EVERY (64 * MEBIBYTE)
#define MARK 0x5a

_Static_assert(BLOCKS *MEBIBYTE > INT_MAX, "more than an int counts");

static unsigned char *buffer;
static MPI_Datatype mebibyte;
// Rank 1's few come first; one element is left free between the two.
static int counts[2] = {BLOCKS, FEW}, places[2] = {FEW + 1, 0};

static uint64_t fill(int operation)
{
    int self = co_test_rank();
    size_t bytes = (size_t)counts[self] * MEBIBYTE;
    uint64_t seed = co_test_seed(self, operation, bytes);
    co_test_pattern_fill(buffer + (size_t)places[self] * MEBIBYTE, bytes, seed);
    return seed;
}

static void check(int operation)
{
    for (int of = 0; of < 2; of++) {
        size_t bytes = (size_t)counts[of] * MEBIBYTE;
        const unsigned char *block = buffer + (size_t)places[of] * MEBIBYTE;
        size_t at = co_test_pattern_mismatch(block, bytes, co_test_seed(of, operation, bytes));
        co_test_expect(at == bytes, "operation %d, block %d: byte %zu of %zu differs", operation, of, at, bytes);
        for (size_t sample = 0; sample < bytes; sample += SAMPLE_EVERY) {
            co_test_absorb(block + sample, 4096);
        }
    }
}

static void check_gap(int element)
{
    const unsigned char *gap = buffer + (size_t)element * MEBIBYTE;
    size_t wrong = 0;
    for (size_t i = 0; i < MEBIBYTE; i++) {
        wrong += gap[i] != MARK;
    }
    co_test_expect(wrong == 0, "%zu bytes of the gap are written", wrong);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    size_t bytes = (BLOCKS + FEW + 1) * MEBIBYTE;
    buffer = aligned_alloc(2 * MEBIBYTE, (bytes + 2 * MEBIBYTE - 1) & ~(2 * MEBIBYTE - 1));
    if (buffer == NULL) {
        return co_test_skip("not enough memory");
    }
    madvise(buffer, bytes, MADV_HUGEPAGE); // refused, it is only slower
    MPI_Type_contiguous((int)MEBIBYTE, MPI_BYTE, &mebibyte);
    MPI_Type_commit(&mebibyte);
    int self = co_test_rank();
    memset(buffer + FEW * MEBIBYTE, MARK, MEBIBYTE);
    fill(1);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, counts, places, mebibyte, MPI_COMM_WORLD);
    check(1);
    check_gap(FEW);
    counts[0] = FEW;
    counts[1] = BLOCKS;
    places[0] = 0;
    places[1] = FEW + 1;
    memset(buffer + FEW * MEBIBYTE, MARK, MEBIBYTE);
    fill(2);
    MPI_Request request;
    MPI_Iallgatherv(MPI_IN_PLACE, counts[self], mebibyte, buffer, counts, places, mebibyte, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(2);
    check_gap(FEW);
    MPI_Type_free(&mebibyte);
    free(buffer);
    return co_test_finish();
}
