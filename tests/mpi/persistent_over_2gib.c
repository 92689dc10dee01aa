// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives of more bytes in all than an int counts, through a datatype of 1 MiB and in one buffer: a
// broadcast, equal blocks, and unequal ones of which one is nearly all, behind a gap. Each is started twice. Every byte
// is compared; the digest takes samples.
// ranks: 2
// memory: 7
// long: named
// modes: native on faults
// environment: CASTOFF_STALL_S=120
// timeout: 300
// expect: right bytes beyond the 2 GiB border, the gap untouched
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/mebibytes.h"
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif

#define STARTS 2

enum { MANY = CO_MEBIBYTES_MANY, FEW = CO_MEBIBYTES_FEW };

static struct co_mebibytes all;
static int operation;

static const struct co_mebibytes_layout from_root = {{0, MANY}, {0, 0}, false};
static const struct co_mebibytes_layout equal = {{MANY / 2, MANY / 2}, {0, MANY / 2}, false};
static const struct co_mebibytes_layout unequal = {{MANY, FEW}, {FEW + 1, 0}, true};

static void run(MPI_Request *request, const struct co_mebibytes_layout *layout)
{
    for (int start = 0; start < STARTS; start++) {
        MPI_Status status = {.MPI_ERROR = -7};
        operation++;
        co_mebibytes_fill(&all, layout, operation);
        MPI_Start(request);
        int error = MPI_Wait(request, &status);
        co_test_expect(error == MPI_SUCCESS, "operation %d: error %d", operation, error);
        co_test_say("%d ", status.MPI_ERROR);
        co_mebibytes_check(&all, layout, operation);
    }
    MPI_Request_free(request);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    if (!co_mebibytes_open(&all)) {
        return co_test_skip("not enough memory");
    }
    MPI_Request request;
    MPIX_Bcast_init(all.buffer, MANY, all.type, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, &from_root);
    MPIX_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.buffer, equal.counts[0], all.type, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &request);
    run(&request, &equal);
    MPIX_Allgatherv_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.buffer, unequal.counts, unequal.places, all.type,
                         MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, &unequal);
    co_mebibytes_close(&all);
    return co_test_finish();
}
