// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments to the unequal allgathers: the error class must be stock's, in every mode, and after each the
// communicator still works. All ranks make the same mistake. Left out is what stock 4.1.4 does not survive:
// MPI_COMM_NULL, counts or places that are NULL, and a negative count.
// ranks: 2 3
// expect: same classes in every mode
#include "oracle/verdict.h"

#include <string.h>

#define RANKS 8

static int data[8], all[256];
static int counts[RANKS], places[RANKS];

static void tell(const char *what, int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    co_test_say("%s: class %d\n", what, class);
}

static void lay_out(void)
{
    for (int of = 0; of < co_test_size(); of++) {
        counts[of] = of + 1;
        places[of] = of * RANKS;
    }
}

static void check_works(void)
{
    int self = co_test_rank(), wrong = 0;
    MPI_Request request;
    lay_out();
    for (int i = 0; i < 8; i++) {
        data[i] = self * 100 + i;
    }
    memset(all, 0, sizeof all);
    int error = MPI_Allgatherv(data, counts[self], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    co_test_expect(error == MPI_SUCCESS, "blocking one after errors: %d", error);
    error = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD, &request);
    co_test_expect(error == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
                   "nonblocking one after errors: %d", error);
    for (int of = 0; of < co_test_size(); of++) {
        for (int i = 0; i < RANKS; i++) {
            wrong += all[of * RANKS + i] != (i <= of ? of * 100 + i : 0);
        }
    }
    co_test_expect(wrong == 0, "%d wrong ints after errors", wrong);
}

static void make_blocking_errors(MPI_Datatype uncommitted)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    lay_out();
    tell("send count -1", MPI_Allgatherv(data, -1, MPI_INT, all, counts, places, MPI_INT, comm));
    tell("null send type", MPI_Allgatherv(data, 1, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, comm));
    tell("uncommitted send type", MPI_Allgatherv(data, 1, uncommitted, all, counts, places, MPI_INT, comm));
    tell("null receive type", MPI_Allgatherv(data, 1, MPI_INT, all, counts, places, MPI_DATATYPE_NULL, comm));
    tell("receive in place", MPI_Allgatherv(data, 1, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm));
    check_works();
}

static void make_nonblocking_errors(MPI_Datatype uncommitted)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    lay_out();
    tell("i, send count -1", MPI_Iallgatherv(data, -1, MPI_INT, all, counts, places, MPI_INT, comm, &request));
    tell("i, null send type",
         MPI_Iallgatherv(data, 1, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, comm, &request));
    tell("i, uncommitted send type",
         MPI_Iallgatherv(data, 1, uncommitted, all, counts, places, MPI_INT, comm, &request));
    tell("i, null receive type",
         MPI_Iallgatherv(data, 1, MPI_INT, all, counts, places, MPI_DATATYPE_NULL, comm, &request));
    tell("i, receive in place",
         MPI_Iallgatherv(data, 1, MPI_INT, MPI_IN_PLACE, counts, places, MPI_INT, comm, &request));
    co_test_expect(request == MPI_REQUEST_NULL, "a request came from a call with wrong arguments");
    check_works();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Datatype uncommitted;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    make_blocking_errors(uncommitted);
    make_nonblocking_errors(uncommitted);
    MPI_Type_free(&uncommitted);
    return co_test_finish();
}
