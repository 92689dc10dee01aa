// SPDX-License-Identifier: BSD-3-Clause
// A program started without mpirun: a world of one rank, whose MPI_Init starts a daemon of Open MPI that
// inherits the preload. All calls work on one member, a duplicate and COMM_SELF.
// ranks: 1
// launcher: none
// expect: right values
#include "oracle/verdict.h"

static void use(MPI_Comm comm)
{
    int value = 5;
    int result = -1;
    MPI_Request request;
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    MPI_Allgather(&value, 1, MPI_INT, &result, 1, MPI_INT, comm);
    co_test_expect(value == 5 && result == 5, "allgather of one: %d, %d", value, result);
    value = 6;
    MPI_Iallgather(&value, 1, MPI_INT, &result, 1, MPI_INT, comm, &request);
    co_test_expect(request != MPI_REQUEST_NULL, "null request at start");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_test_expect(result == 6, "iallgather of one: %d", result);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, &result, 1, MPI_INT, comm);
    co_test_expect(result == 6, "in place: %d", result);
}

int main(int argc, char **argv)
{
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    co_test_begin();
    use(MPI_COMM_WORLD);
    use(MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    use(copy);
    MPI_Comm_free(&copy);
    return co_test_finish();
}
