// SPDX-License-Identifier: BSD-3-Clause
// Calls that are declined before their bytes matter (one rank, info hint, a communicator that is not followed, one
// between groups): the report has their bytes all the same, also those of the program's own types, and none for a call
// that ends with an error.
// ranks: 2
// expect: right bytes on each of them
// report: calls["MPI_Bcast"]["declined"]["one_rank"] == 2
// report: calls["MPI_Bcast"]["declined"]["switched_off_by_info"] == 2
// report: calls["MPI_Bcast"]["declined"]["communicator_not_followed"] == 2
// report: calls["MPI_Bcast"]["declined"]["intercommunicator"] == 2
// report: calls["MPI_Bcast"]["declined"]["bad_argument"] == 2
// report: calls["MPI_Bcast"]["seen"] == 10 and calls["MPI_Bcast"]["taken"] == 0
// report: calls["MPI_Bcast"]["bytes_seen"] == 2 * (100 + 1200 + 10000 + 1000000)
// report: calls["MPI_Allgather"]["bytes_seen"] == 2 * 24 and calls["MPI_Allgather"]["taken"] == 0
// report: calls["MPI_Iallgather"]["bytes_seen"] == 2 * 7 and calls["MPI_Iallgather"]["taken"] == 0
#include "oracle/verdict.h"

#include <string.h>

static unsigned char buffer[1000000], gathered[64];

static void broadcast(MPI_Comm comm, int count, MPI_Datatype type, int root, const char *what)
{
    int size;
    MPI_Type_size(type, &size);
    size_t bytes = (size_t)count * (size_t)size;
    uint64_t seed = co_test_seed(7, count, bytes);
    memset(buffer, 0, bytes);
    if (co_test_rank() == 0 || comm == MPI_COMM_SELF) {
        co_test_pattern_fill(buffer, bytes, seed);
    }
    MPI_Bcast(buffer, count, type, root, comm);
    co_test_received(buffer, bytes, seed, "%s", what);
}

static MPI_Comm switched_off(void)
{
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

static MPI_Comm not_followed(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return comm;
}

static void between_groups(void)
{
    MPI_Comm inter;
    int root = co_test_rank() == 0 ? MPI_ROOT : 0;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - co_test_rank(), 3, &inter);
    broadcast(inter, 1000000, MPI_BYTE, root, "between groups");
    MPI_Comm_free(&inter);
}

static void with_an_error(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Bcast(buffer, 500, MPI_BYTE, 99, MPI_COMM_WORLD);
    co_test_expect(code != MPI_SUCCESS, "no error for a root that is none");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Datatype own;
    MPI_Request request;
    MPI_Comm off, strange;
    MPI_Init(&argc, &argv);
    co_test_begin();
    off = switched_off();
    strange = not_followed();
    MPI_Type_contiguous(3, MPI_INT, &own);
    MPI_Type_commit(&own);
    broadcast(MPI_COMM_SELF, 100, MPI_BYTE, 0, "one rank");
    broadcast(off, 100, own, 0, "switched off");
    broadcast(strange, 10000, MPI_BYTE, 0, "not followed");
    between_groups();
    with_an_error();
    MPI_Allgather(buffer, 2, own, gathered, 2, own, off);
    MPI_Iallgather(buffer, 7, MPI_BYTE, gathered, 7, MPI_BYTE, strange, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&own);
    MPI_Comm_free(&off);
    MPI_Comm_free(&strange);
    return co_test_finish();
}
