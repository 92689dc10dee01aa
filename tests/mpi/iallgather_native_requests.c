// SPDX-License-Identifier: BSD-3-Clause
// Everything else that a program may do with requests while Iallgathers are pending beside them: cancel a
// receive, free an active send, generalized requests, handles turned into Fortran integers and back,
// copies of the handle in other variables, null requests in every call.
// ranks: 2 3
// expect: right bytes, cancelled status, freed send delivered
// taken: MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>

#define INTS 9001

static int mine[INTS];
static int gathered[INTS * 3];
static int queried;
static int freed;

static void start(int operation, MPI_Request *request)
{
    co_test_pattern_fill(mine, sizeof mine, co_test_seed(co_test_rank(), operation, sizeof mine));
    MPI_Iallgather(mine, INTS, MPI_INT, gathered, INTS, MPI_INT, MPI_COMM_WORLD, request);
}

static void check(int operation)
{
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(gathered + INTS * r, sizeof mine, co_test_seed(r, operation, sizeof mine),
                         "operation %d, block %d", operation, r);
    }
}

static int on_query(void *state, MPI_Status *status)
{
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int on_free(void *state)
{
    (void)state;
    freed++;
    return MPI_SUCCESS;
}

static int on_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void use_cancel(int operation)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int value;
    int cancelled = 0;
    start(operation, &requests[1]);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4242, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Waitall(2, requests, statuses);
    MPI_Test_cancelled(&statuses[0], &cancelled);
    co_test_expect(cancelled == 1, "the receive was not cancelled");
    MPI_Test_cancelled(&statuses[1], &cancelled);
    co_test_expect(cancelled == 0, "the allgather was cancelled");
    check(operation);
}

static void use_free(int operation)
{
    MPI_Request gather;
    MPI_Request send;
    int value = operation + co_test_rank();
    int incoming = -1;
    int from = (co_test_rank() + co_test_size() - 1) % co_test_size();
    start(operation, &gather);
    MPI_Isend(&value, 1, MPI_INT, (co_test_rank() + 1) % co_test_size(), 8, MPI_COMM_WORLD, &send);
    MPI_Request_free(&send);
    co_test_expect(send == MPI_REQUEST_NULL, "freed request is not null");
    MPI_Recv(&incoming, 1, MPI_INT, from, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    co_test_expect(incoming == operation + from, "the freed send delivered %d", incoming);
    MPI_Wait(&gather, MPI_STATUS_IGNORE);
    check(operation);
}

static void use_generalized(int operation)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int state = 5;
    int count = -1;
    queried = 0;
    freed = 0;
    requests[0] = MPI_REQUEST_NULL;
    MPI_Grequest_start(on_query, on_free, on_cancel, &state, &requests[1]);
    start(operation, &requests[2]);
    int flag = 1;
    MPI_Testall(3, requests, &flag, statuses);
    co_test_expect(flag == 0, "Testall is true before the generalized request is complete");
    MPI_Grequest_complete(requests[1]);
    MPI_Waitall(3, requests, statuses);
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    co_test_expect(count == 5 && statuses[1].MPI_SOURCE == 3 && statuses[1].MPI_TAG == 4,
                   "generalized request: count %d, source %d", count, statuses[1].MPI_SOURCE);
    co_test_expect(queried == 1 && freed == 1, "queried %d times, freed %d times", queried, freed);
    check(operation);
}

static void use_fortran_handle(int operation)
{
    MPI_Request request;
    start(operation, &request);
    MPI_Fint integer = MPI_Request_c2f(request);
    MPI_Request back = MPI_Request_f2c(integer);
    co_test_expect(back == request, "c2f and f2c give another handle");
    MPI_Wait(&back, MPI_STATUS_IGNORE);
    co_test_expect(back == MPI_REQUEST_NULL, "copy of the handle kept");
    check(operation);
    co_test_expect(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL, "null changes");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 20; round++) {
        use_cancel(round * 4);
        use_free(round * 4 + 1);
        use_generalized(round * 4 + 2);
        use_fortran_handle(round * 4 + 3);
    }
    return co_test_finish();
}
