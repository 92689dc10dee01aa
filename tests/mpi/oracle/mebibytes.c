// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "oracle/mebibytes.h"

#include "oracle/verdict.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEBIBYTE ((size_t)1 << 20)
#define SAMPLE_EVERY (64 * MEBIBYTE)
#define MARK 0x5a

_Static_assert(CO_MEBIBYTES_MANY *MEBIBYTE > INT_MAX, "more than an int counts");

bool co_mebibytes_open(struct co_mebibytes *all)
{
    size_t bytes = (CO_MEBIBYTES_MANY + CO_MEBIBYTES_FEW + 1) * MEBIBYTE;
    all->buffer = aligned_alloc(2 * MEBIBYTE, (bytes + 2 * MEBIBYTE - 1) & ~(2 * MEBIBYTE - 1));
    if (all->buffer == NULL) {
        return false;
    }
    madvise(all->buffer, bytes, MADV_HUGEPAGE); // refused, it is only slower
    MPI_Type_contiguous((int)MEBIBYTE, MPI_BYTE, &all->type);
    MPI_Type_commit(&all->type);
    return true;
}

void co_mebibytes_close(struct co_mebibytes *all)
{
    MPI_Type_free(&all->type);
    free(all->buffer);
}

void co_mebibytes_fill(const struct co_mebibytes *all, const struct co_mebibytes_layout *layout, int operation)
{
    int self = co_test_rank();
    size_t bytes = (size_t)layout->counts[self] * MEBIBYTE;
    unsigned char *block = all->buffer + (size_t)layout->places[self] * MEBIBYTE;
    co_test_pattern_fill(block, bytes, co_test_seed(self, operation, bytes));
    if (layout->has_gap) {
        memset(all->buffer + CO_MEBIBYTES_FEW * MEBIBYTE, MARK, MEBIBYTE);
    }
}

void co_mebibytes_check(const struct co_mebibytes *all, const struct co_mebibytes_layout *layout, int operation)
{
    for (int of = 0; of < 2; of++) {
        size_t bytes = (size_t)layout->counts[of] * MEBIBYTE;
        const unsigned char *block = all->buffer + (size_t)layout->places[of] * MEBIBYTE;
        size_t at = co_test_pattern_mismatch(block, bytes, co_test_seed(of, operation, bytes));
        co_test_expect(at == bytes, "operation %d, block %d: byte %zu of %zu differs", operation, of, at, bytes);
        for (size_t sample = 0; sample < bytes; sample += SAMPLE_EVERY) {
            co_test_absorb(block + sample, 4096);
        }
    }
    size_t wrong = 0;
    for (size_t i = 0; i < MEBIBYTE && layout->has_gap; i++) {
        wrong += all->buffer[CO_MEBIBYTES_FEW * MEBIBYTE + i] != MARK;
    }
    co_test_expect(wrong == 0, "operation %d: %zu bytes of the gap are written", operation, wrong);
}
