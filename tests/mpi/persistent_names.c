// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives by the names that MPI 4 gives them, where the MPI below has these (Open MPI 5), and by those
// that Open MPI had before: they are the same calls, counted together.
// ranks: 2 3
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
// expect: right bytes
#include "oracle/verdict.h"

#include <mpi-ext.h>
#include <string.h>

#if OMPI_MAJOR_VERSION >= 5

#define BYTES 5000
#define STARTS 3

static void run(MPI_Request *request, unsigned char *mine, const unsigned char *all, int blocks, const char *what)
{
    int me = co_test_rank();
    for (int start = 0; start < STARTS; start++) {
        if (mine != NULL) {
            co_test_pattern_fill(mine, BYTES, co_test_seed(me, start, BYTES));
        }
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        for (int block = 0; block < blocks; block++) {
            co_test_received(all + (size_t)block * BYTES, BYTES, co_test_seed(block, start, BYTES), "%s, start %d",
                             what, start);
        }
    }
    MPI_Request_free(request);
}

int main(int argc, char **argv)
{
    static unsigned char mine[BYTES], all[3 * BYTES];
    int counts[3] = {BYTES, BYTES, BYTES}, places[3] = {0, BYTES, 2 * BYTES};
    MPI_Request request;
    MPI_Init(&argc, &argv);
    co_test_begin();
    int me = co_test_rank(), size = co_test_size();
    MPI_Bcast_init(all, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, me == 0 ? all : NULL, all, 1, "MPI_Bcast_init");
    MPIX_Bcast_init(all, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, me == 0 ? all : NULL, all, 1, "MPIX_Bcast_init");
    MPI_Allgather_init(mine, BYTES, MPI_BYTE, all, BYTES, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, mine, all, size, "MPI_Allgather_init");
    MPI_Allgatherv_init(mine, BYTES, MPI_BYTE, all, counts, places, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, mine, all, size, "MPI_Allgatherv_init");
    return co_test_finish();
}

#else

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    return co_test_skip("Open MPI has MPI_Bcast_init from version 5 on");
}

#endif
