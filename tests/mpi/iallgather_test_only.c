// SPDX-License-Identifier: BSD-3-Clause
// Completion by MPI_Test alone: the request stays the same until the flag is set, becomes null then, and
// a test on a null request is true with an empty status. Request_get_status tells without consuming.
// ranks: 2 5
// expect: right bytes, flags and statuses
// taken: MPI_Iallgather
#include "oracle/mixture.h"
#include "oracle/verdict.h"

#include <string.h>

#define LARGEST 150001

static unsigned char send[LARGEST];
static unsigned char receive[LARGEST * 5];

static void complete_by_test(MPI_Request *request)
{
    MPI_Request before = *request;
    MPI_Status status;
    int flag = 0;
    while (flag == 0) {
        co_test_expect(*request == before, "the request changed before completion");
        memset(&status, 0x11, sizeof status);
        MPI_Test(request, &flag, &status);
    }
    co_test_expect(*request == MPI_REQUEST_NULL, "request kept after a successful test");
    memset(&status, 0x11, sizeof status);
    flag = 0;
    MPI_Test(request, &flag, &status);
    co_test_expect(flag == 1, "test of a null request is false");
    co_mixture_check_empty_status(&status, "null request");
}

static void complete_by_get_status(MPI_Request *request)
{
    MPI_Request before = *request;
    MPI_Status status;
    int flag = 0;
    while (flag == 0) {
        MPI_Request_get_status(*request, &flag, &status);
    }
    co_test_expect(*request == before, "Request_get_status changed the request");
    flag = 0;
    MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
    co_test_expect(flag == 1, "a complete request is no longer complete");
    MPI_Wait(request, &status);
    co_test_expect(*request == MPI_REQUEST_NULL, "request kept after a wait");
    flag = 0;
    MPI_Request_get_status(*request, &flag, &status);
    co_test_expect(flag == 1, "a null request is not complete");
    co_mixture_check_empty_status(&status, "Request_get_status of a null request");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const int sizes[] = {0, 4, 1000, LARGEST};
    for (int operation = 0; operation < 24; operation++) {
        size_t bytes = (size_t)sizes[operation / 2 % 4];
        int count = (int)bytes;
        MPI_Request request;
        co_test_pattern_fill(send, bytes, co_test_seed(co_test_rank(), operation, bytes));
        MPI_Iallgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, MPI_COMM_WORLD, &request);
        if (operation % 2 == 0) {
            complete_by_test(&request);
        } else {
            complete_by_get_status(&request);
        }
        for (int r = 0; r < co_test_size(); r++) {
            co_test_received(receive + (size_t)r * bytes, bytes, co_test_seed(r, operation, bytes),
                             "operation %d, block %d", operation, r);
        }
    }
    return co_test_finish();
}
