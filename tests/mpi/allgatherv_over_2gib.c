// SPDX-License-Identifier: BSD-3-Clause
// An allgather of unequal blocks of more bytes in all than an int counts, through a datatype of 1 MiB: blocking, one
// block alone nearly all of it and behind a gap, and then a nonblocking one in place, whose counts change sides. Every
// byte is compared; the digest takes samples.
// ranks: 2
// memory: 7
// long: yes
// modes: native on faults
// environment: CASTOFF_STALL_S=120
// timeout: 300
// expect: right bytes beyond the 2 GiB border, the gap untouched
// taken: MPI_Allgatherv MPI_Iallgatherv
#include "oracle/mebibytes.h"
#include "oracle/verdict.h"

enum { MANY = CO_MEBIBYTES_MANY, FEW = CO_MEBIBYTES_FEW };

// The few come first; one element is left free between the two.
static const struct co_mebibytes_layout many_of_0 = {{MANY, FEW}, {FEW + 1, 0}, true};
static const struct co_mebibytes_layout many_of_1 = {{FEW, MANY}, {0, FEW + 1}, true};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    struct co_mebibytes all;
    if (!co_mebibytes_open(&all)) {
        return co_test_skip("not enough memory");
    }
    co_mebibytes_fill(&all, &many_of_0, 1);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.buffer, many_of_0.counts, many_of_0.places, all.type,
                   MPI_COMM_WORLD);
    co_mebibytes_check(&all, &many_of_0, 1);
    co_mebibytes_fill(&all, &many_of_1, 2);
    MPI_Request request;
    MPI_Iallgatherv(MPI_IN_PLACE, many_of_1.counts[co_test_rank()], all.type, all.buffer, many_of_1.counts,
                    many_of_1.places, all.type, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_mebibytes_check(&all, &many_of_1, 2);
    co_mebibytes_close(&all);
    return co_test_finish();
}
