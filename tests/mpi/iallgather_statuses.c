// SPDX-License-Identifier: BSD-3-Clause
// What completion calls write into MPI_ERROR of a status, beside an Iallgather and for the native request
// next to it: single-request calls leave the field alone or not exactly as stock does, which the
// printed words record. Then a truncated native receive in the same array: MPI_ERR_IN_STATUS, the
// error at its index only, and the Iallgather either complete or marked as pending and still there.
// ranks: 2 3
// expect: same words in every mode; the truncation is reported at its index
// taken: MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define SENTINEL 123456
#define BYTES 3000

static unsigned char send[BYTES];
static unsigned char receive[BYTES * 3];
static int incoming[4];
static int outgoing[4] = {1, 2, 3, 4};
static int operation;

static const char *word(int error)
{
    return error == SENTINEL ? "kept" : error == MPI_SUCCESS ? "success" : "other";
}

static void start_gather(MPI_Request *request)
{
    co_test_pattern_fill(send, BYTES, co_test_seed(co_test_rank(), ++operation, BYTES));
    MPI_Iallgather(send, BYTES, MPI_BYTE, receive, BYTES, MPI_BYTE, MPI_COMM_WORLD, request);
}

static void check_gather(void)
{
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + (size_t)r * BYTES, BYTES, co_test_seed(r, operation, BYTES),
                         "operation %d, block %d", operation, r);
    }
}

// requests[0] is the Iallgather, requests[1] a receive of `room` ints out of 4 that arrive.
static void start_pair(MPI_Request requests[2], int room)
{
    start_gather(&requests[0]);
    MPI_Irecv(incoming, room, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(outgoing, 4, MPI_INT, (co_test_rank() + 1) % co_test_size(), 7, MPI_COMM_WORLD);
}

static void finish_pair(const char *call, MPI_Request requests[2], MPI_Status statuses[2])
{
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    co_test_say("%s: gather %s, receive %s\n", call, word(statuses[0].MPI_ERROR), word(statuses[1].MPI_ERROR));
    check_gather();
}

static void mark(MPI_Status statuses[2])
{
    memset(statuses, 0, 2 * sizeof statuses[0]);
    statuses[0].MPI_ERROR = SENTINEL;
    statuses[1].MPI_ERROR = SENTINEL;
}

static void use_single_calls(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = 0;
    start_pair(requests, 4);
    mark(statuses);
    MPI_Wait(&requests[0], &statuses[0]);
    MPI_Wait(&requests[1], &statuses[1]);
    finish_pair("Wait", requests, statuses);
    start_pair(requests, 4);
    mark(statuses);
    for (int i = 0; i < 2; i++) {
        for (flag = 0; flag == 0;) {
            MPI_Test(&requests[i], &flag, &statuses[i]);
        }
    }
    finish_pair("Test", requests, statuses);
    start_pair(requests, 4);
    mark(statuses);
    for (int i = 0; i < 2; i++) {
        int index;
        MPI_Status status;
        status.MPI_ERROR = SENTINEL;
        MPI_Waitany(2, requests, &index, &status);
        statuses[index] = status;
    }
    finish_pair("Waitany", requests, statuses);
    MPI_Wait(&requests[0], &statuses[0]);
    statuses[0].MPI_ERROR = SENTINEL;
    MPI_Wait(&requests[0], &statuses[0]);
    co_test_say("Wait of null: %s\n", word(statuses[0].MPI_ERROR));
}

static void use_array_calls(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    start_pair(requests, 4);
    mark(statuses);
    MPI_Waitall(2, requests, statuses);
    finish_pair("Waitall", requests, statuses);
    start_pair(requests, 4);
    mark(statuses);
    for (int flag = 0; flag == 0;) {
        MPI_Testall(2, requests, &flag, statuses);
    }
    finish_pair("Testall", requests, statuses);
}

static void truncate(void)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    start_pair(requests, 2);
    requests[2] = MPI_REQUEST_NULL;
    int error = MPI_Waitall(3, requests, statuses);
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    co_test_expect(class == MPI_ERR_IN_STATUS, "Waitall: class %d", class);
    bool pending = statuses[0].MPI_ERROR == MPI_ERR_PENDING;
    co_test_expect(pending || statuses[0].MPI_ERROR == MPI_SUCCESS, "gather: error %d", statuses[0].MPI_ERROR);
    co_test_expect(pending == (requests[0] != MPI_REQUEST_NULL), "gather: error and handle disagree");
    co_test_expect(requests[1] == MPI_REQUEST_NULL, "truncated receive kept");
    MPI_Error_class(statuses[1].MPI_ERROR, &class);
    co_test_expect(class == MPI_ERR_TRUNCATE, "receive: class %d", class);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check_gather();
    // In the blocking kind: the receive's own error comes back from Wait.
    start_pair(requests, 2);
    MPI_Wait(&requests[0], &statuses[0]);
    error = MPI_Wait(&requests[1], &statuses[1]);
    MPI_Error_class(error, &class);
    co_test_expect(class == MPI_ERR_TRUNCATE, "Wait: class %d", class);
    check_gather();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    use_single_calls();
    use_array_calls();
    truncate();
    return co_test_finish();
}
