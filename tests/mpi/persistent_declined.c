// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives that are native's, on all ranks or on none: no bytes; an intercommunicator; a communicator
// that is switched off; one rank alone with a wrong argument, whose error it gets while the others get a request;
// lengths that differ, where those of one rank are none. What castoff has, and what it has not, in one MPI_Startall.
// ranks: 3
// mpirun: --mca coll basic,self,libnbc
// expect: the same words in every mode, right bytes
// report: calls["MPIX_Bcast_init"]["declined"]["zero_bytes"] > 0
// report: calls["MPIX_Bcast_init"]["declined"]["bad_argument"] == ranks * 2
// report: calls["MPIX_Bcast_init"]["declined"]["switched_off_by_info"] == ranks
// report: calls["MPIX_Allgather_init"]["declined"]["intercommunicator"] == ranks
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

// On a communicator of its own: native's others have counted a call that this one has not.
static void one_is_wrong(void)
{
    MPI_Comm comm;
    int value = 0;
    for (int wrong = 0; wrong < 2; wrong++) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        bool is_wrong = co_test_rank() == wrong;
        int code = MPIX_Bcast_init(&value, is_wrong ? -1 : 1, MPI_INT, 0, comm, MPI_INFO_NULL, &request);
        co_test_say("wrong count on rank %d: class %d, %s\n", wrong, class_of(code),
                    request == MPI_REQUEST_NULL ? "no request" : "a request");
        if (request != MPI_REQUEST_NULL) {
            MPI_Request_free(&request);
        }
        MPI_Comm_free(&comm);
    }
}

static void across_groups(MPI_Request *request, int *gathered)
{
    MPI_Comm half, across;
    int rank = co_test_rank();
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0, 3, &across);
    static int mine;
    mine = 100 + rank;
    MPIX_Allgather_init(&mine, 1, MPI_INT, gathered, 1, MPI_INT, across, MPI_INFO_NULL, request);
    MPI_Comm_free(&half);
    // The intercommunicator stays until the end: native's request uses it.
}

int main(int argc, char **argv)
{
    int gathered[4] = {0}, value, other, rank;
    MPI_Request requests[4];
    MPI_Info info;
    MPI_Comm off;
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    one_is_wrong();
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &off);
    MPI_Info_free(&info);
    MPIX_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    across_groups(&requests[1], gathered);
    MPIX_Bcast_init(&other, 1, MPI_INT, 1, off, MPI_INFO_NULL, &requests[2]);
    MPIX_Bcast_init(NULL, 0, MPI_INT, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
    for (int round = 0; round < 10; round++) {
        value = rank == 0 ? 10 * round : -1;
        other = rank == 1 ? 20 * round : -1;
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        co_test_expect(value == 10 * round && other == 20 * round, "round %d: %d %d", round, value, other);
        co_test_expect(gathered[0] == (rank == 0 ? 101 : 100), "round %d: gathered %d", round, gathered[0]);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&requests[i]);
    }
    MPI_Comm_free(&off);
    return co_test_finish();
}
