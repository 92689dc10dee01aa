// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives of more bytes in all than an int counts, through a datatype of 1 MiB and in one buffer: a
// broadcast, equal blocks, and unequal ones of which one is nearly all, behind a gap. Each is started twice. Every byte
// is compared; the digest takes samples.
// ranks: 2
// memory: 7
// long: named
// modes: native on faults
// timeout: 300
// expect: right bytes beyond the 2 GiB border, the gap untouched
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#define _GNU_SOURCE
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEBIBYTE ((size_t)1 << 20)
#define BLOCKS 2050
#define FEW 3
#define STARTS 2
#define SAMPLE_EVERY (64 * MEBIBYTE)
#define MARK 0x5a

_Static_assert(BLOCKS *MEBIBYTE > INT_MAX, "more than an int counts");

static unsigned char *buffer;
static MPI_Datatype mebibyte;
static int operation;

// Elements of each rank, and where they are.
struct layout {
    int counts[2], places[2];
    bool has_gap; // behind the first FEW
};

static const struct layout from_root = {{0, BLOCKS}, {0, 0}, false};
static const struct layout equal = {{BLOCKS / 2, BLOCKS / 2}, {0, BLOCKS / 2}, false};
static const struct layout unequal = {{BLOCKS, FEW}, {FEW + 1, 0}, true};

static void fill(const struct layout *layout)
{
    int self = co_test_rank();
    size_t bytes = (size_t)layout->counts[self] * MEBIBYTE;
    // What came before stays where others' bytes are to come: it is of another seed.
    co_test_pattern_fill(buffer + (size_t)layout->places[self] * MEBIBYTE, bytes, co_test_seed(self, operation, bytes));
    if (layout->has_gap) {
        memset(buffer + FEW * MEBIBYTE, MARK, MEBIBYTE);
    }
}

static void check(const struct layout *layout)
{
    for (int of = 0; of < 2; of++) {
        size_t bytes = (size_t)layout->counts[of] * MEBIBYTE, sample = 0;
        const unsigned char *block = buffer + (size_t)layout->places[of] * MEBIBYTE;
        size_t at = co_test_pattern_mismatch(block, bytes, co_test_seed(of, operation, bytes));
        co_test_expect(at == bytes, "operation %d, block %d: byte %zu of %zu differs", operation, of, at, bytes);
        for (; sample < bytes; sample += SAMPLE_EVERY) {
            co_test_absorb(block + sample, 4096);
        }
    }
    size_t wrong = 0;
    for (size_t i = 0; i < MEBIBYTE && layout->has_gap; i++) {
        wrong += buffer[FEW * MEBIBYTE + i] != MARK;
    }
    co_test_expect(wrong == 0, "operation %d: %zu bytes of the gap are written", operation, wrong);
}

static void run(MPI_Request *request, const struct layout *layout)
{
    for (int start = 0; start < STARTS; start++) {
        MPI_Status status = {.MPI_ERROR = -7};
        operation++;
        fill(layout);
        MPI_Start(request);
        int error = MPI_Wait(request, &status);
        co_test_expect(error == MPI_SUCCESS, "operation %d: error %d", operation, error);
        co_test_say("%d ", status.MPI_ERROR);
        check(layout);
    }
    MPI_Request_free(request);
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
    MPI_Request request;
    MPIX_Bcast_init(buffer, BLOCKS, mebibyte, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, &from_root);
    MPIX_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, equal.counts[0], mebibyte, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &request);
    run(&request, &equal);
    MPIX_Allgatherv_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, unequal.counts, unequal.places, mebibyte,
                         MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, &unequal);
    MPI_Type_free(&mebibyte);
    free(buffer);
    return co_test_finish();
}
