// SPDX-License-Identifier: BSD-3-Clause
// Completion calls with wrong arguments over arrays that hold a request of MPI_Iallgather, while it is under way and
// when it is done: the call is an error, nothing is completed, and the requests go on.
// ranks: 2 3
// expect: the same classes in every mode, both handles in place, right bytes in the end
// taken: MPI_Iallgather
#include "oracle/verdict.h"

static MPI_Request requests[2];
static int all[64], mine, received, index_of_any, flag, count;
static int indices[2];
static MPI_Status statuses[2];

static void tell(const char *call, int code)
{
    int class;
    MPI_Error_class(code, &class);
    co_test_say("%s: class %d\n", call, class);
    co_test_expect(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "%s: a request is gone", call);
}

static void call_with_hole(MPI_Request holed[2])
{
    tell("Waitany of a hole", MPI_Waitany(2, holed, &index_of_any, statuses));
    tell("Testany of a hole", MPI_Testany(2, holed, &index_of_any, &flag, statuses));
    tell("Waitsome of a hole", MPI_Waitsome(2, holed, &count, indices, statuses));
    tell("Testsome of a hole", MPI_Testsome(2, holed, &count, indices, statuses));
    tell("Waitall of a hole", MPI_Waitall(2, holed, statuses));
    tell("Testall of a hole", MPI_Testall(2, holed, &flag, statuses));
}

// Open MPI 5.0.7 does not survive a null pointer among the handles, and MPICH's handles are no pointers.
#ifdef OPEN_MPI
#define HAS_HOLE (OMPI_MAJOR_VERSION < 5)
#else
#define HAS_HOLE 0
#endif

// Each of them many times, because who is asked first takes turns.
static void call_wrongly(void)
{
    MPI_Request holed[2] = {requests[0], HAS_HOLE ? (MPI_Request)0 : requests[1]};
    for (int round = 0; round < 3; round++) {
        tell("Waitany without index", MPI_Waitany(2, requests, NULL, statuses));
        tell("Waitany of -1", MPI_Waitany(-1, requests, &index_of_any, statuses));
        tell("Testany without index", MPI_Testany(2, requests, NULL, &flag, statuses));
        tell("Testany without flag", MPI_Testany(2, requests, &index_of_any, NULL, statuses));
        tell("Waitsome without count", MPI_Waitsome(2, requests, NULL, indices, statuses));
        tell("Waitsome without indices", MPI_Waitsome(2, requests, &count, NULL, statuses));
        tell("Testsome without count", MPI_Testsome(2, requests, NULL, indices, statuses));
        tell("Testsome without indices", MPI_Testsome(2, requests, &count, NULL, statuses));
        tell("Waitall of -1", MPI_Waitall(-1, requests, statuses));
        tell("Testall without flag", MPI_Testall(2, requests, NULL, statuses));
        if (HAS_HOLE) {
            call_with_hole(holed);
        }
    }
    co_test_expect(holed[0] == requests[0], "a call with a hole has completed a request");
}

static void finish(int round)
{
    int code = MPI_Waitall(2, requests, statuses);
    co_test_expect(code == MPI_SUCCESS, "Waitall: error %d", code);
    for (int rank = 0; rank < co_test_size(); rank++) {
        co_test_expect(all[rank] == 100 * rank + round, "round %d: wrong block of rank %d", round, rank);
    }
    co_test_expect(received == 7, "round %d: wrong message", round);
    co_test_absorb(all, (size_t)co_test_size() * sizeof(int));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = co_test_rank(), size = co_test_size();
    for (int round = 0; round < 2; round++) {
        int seven = 7, done = 0;
        mine = 100 * rank + round;
        MPI_Irecv(&received, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
        while (round == 1 && !done) {
            MPI_Request_get_status(requests[0], &done, MPI_STATUS_IGNORE);
        }
        call_wrongly();
        MPI_Send(&seven, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
        finish(round);
    }
    return co_test_finish();
}
