// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls of more bytes in all than an int counts, through a datatype of 1 MiB: equal blocks, and unequal ones,
// one of which alone is longer than that. Every byte is compared; the digest takes samples.
// ranks: 2
// environment: CASTOFF_PROXY=yes CASTOFF_STALL_S=120
// memory: 11
// long: yes
// modes: native on faults
// timeout: 300
// expect: right bytes beyond the 2 GiB border
// taken: MPI_Ialltoall MPI_Ialltoallv
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <limits.h>
#include <stdlib.h>

#define MEBIBYTE ((size_t)1 << 20)
#define BLOCKS 1030 // for each of two
#define MOST 2050
#define SAMPLE_EVERY (64 * MEBIBYTE)

_Static_assert(2 * BLOCKS * MEBIBYTE > INT_MAX && MOST * MEBIBYTE > INT_MAX, "more than an int counts");

static unsigned char *send, *receive;
static MPI_Datatype mebibyte;

static void check(size_t place, size_t bytes, uint64_t seed, const char *what)
{
    size_t wrong = co_test_pattern_mismatch(receive + place, bytes, seed);
    co_test_expect(wrong == bytes, "%s: byte %zu is wrong", what, wrong);
    for (size_t at = 0; at < bytes; at += SAMPLE_EVERY) {
        co_test_absorb(receive + place + at, 64);
    }
}

static void run_equal(void)
{
    MPI_Request request;
    size_t bytes = BLOCKS * MEBIBYTE;
    for (int r = 0; r < 2; r++) {
        co_test_pattern_fill(send + (size_t)r * bytes, bytes, co_test_seed(co_test_rank() * 2 + r, 1, bytes));
    }
    MPI_Ialltoall(send, BLOCKS, mebibyte, receive, BLOCKS, mebibyte, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < 2; r++) {
        check((size_t)r * bytes, bytes, co_test_seed(r * 2 + co_test_rank(), 1, bytes), "equal");
    }
}

// Rank 0 has nearly all for rank 1, and rank 1 hardly anything.
static void run_unequal(void)
{
    MPI_Request request;
    int self = co_test_rank(), other = 1 - self;
    int out[2] = {1, 1}, in[2] = {1, 1}, out_places[2], in_places[2];
    out[1] = self == 0 ? MOST : 1;
    in[0] = self == 1 ? MOST : 1;
    out_places[0] = in_places[0] = 0;
    out_places[1] = out[0];
    in_places[1] = in[0];
    for (int r = 0; r < 2; r++) {
        size_t bytes = (size_t)out[r] * MEBIBYTE;
        co_test_pattern_fill(send + (size_t)out_places[r] * MEBIBYTE, bytes, co_test_seed(self * 2 + r, 2, bytes));
    }
    MPI_Ialltoallv(send, out, out_places, mebibyte, receive, in, in_places, mebibyte, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < 2; r++) {
        size_t bytes = (size_t)in[r] * MEBIBYTE;
        check((size_t)in_places[r] * MEBIBYTE, bytes, co_test_seed(r * 2 + self, 2, bytes),
              r == other ? "other" : "own");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    send = malloc(2 * BLOCKS * MEBIBYTE);
    receive = malloc(2 * BLOCKS * MEBIBYTE);
    if (send == NULL || receive == NULL) {
        return co_test_skip("no memory");
    }
    MPI_Type_contiguous((int)MEBIBYTE, MPI_BYTE, &mebibyte);
    MPI_Type_commit(&mebibyte);
    run_equal();
    run_unequal();
    MPI_Type_free(&mebibyte);
    free(send);
    free(receive);
    return co_test_finish();
}
