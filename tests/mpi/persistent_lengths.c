// SPDX-License-Identifier: BSD-3-Clause
// A persistent broadcast whose root gives another length than the other rank has room for: fewer bytes come as they
// are, more are cut and raise MPI_ERR_TRUNCATE in the completing call, after which the request is gone where it failed.
// The same again with other requests, so that what failed has broken nothing else.
// ranks: 2
// mpirun: --mca coll basic,self,libnbc
// expect: the same words in every mode
// taken: MPIX_Bcast_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <string.h>

#define ROOM 4000

static void run(int given, int room, bool is_array)
{
    static unsigned char buffer[ROOM];
    MPI_Request request;
    MPI_Status status;
    int rank = co_test_rank(), mine = rank == 0 ? given : room, code = MPI_SUCCESS, class, count = -1;
    MPIX_Bcast_init(buffer, mine, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int start = 0; start < 3 && request != MPI_REQUEST_NULL; start++) {
        memset(buffer, rank == 0 ? 11 * (start + 1) : 0, sizeof buffer);
        MPI_Start(&request);
        status.MPI_ERROR = MPI_SUCCESS;
        code = is_array ? MPI_Waitall(1, &request, &status) : MPI_Wait(&request, &status);
        count = 0;
        while (count < ROOM && buffer[count] == 11 * (start + 1)) {
            count++;
        }
        MPI_Error_class(code, &class);
        co_test_say("%d bytes for %d, %d: class %d, request %s\n", given, room, start, class,
                    request == MPI_REQUEST_NULL ? "gone" : "kept");
        int came = rank == 0 ? ROOM : given < room ? given : room;
        co_test_expect(count == came, "%d bytes for %d, start %d: %d came", given, room, start, count);
        if (is_array && class == MPI_ERR_IN_STATUS) {
            MPI_Error_class(status.MPI_ERROR, &class);
            co_test_say("in the status: class %d\n", class);
        }
        if (class == MPI_ERR_TRUNCATE || given > room) { // the other one has failed
            break;
        }
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 4; round++) {
        run(100, 100, round % 2 == 1);
        run(10, 100, round % 2 == 1);
        run(100, 10, round % 2 == 1);
        run(3000, 1000, round % 2 == 1);
        run(1000, 3000, round % 2 == 1);
    }
    return co_test_finish();
}
