// SPDX-License-Identifier: BSD-3-Clause
// What completion calls say of all-to-alls: source, tag, count, MPI_ERROR, beside a native receive; before and after
// the completion, through MPI_Request_get_status, and of one that is complete already.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: same words in every mode
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#include <string.h>

#define SENTINEL 123456

static void tell(const char *call, const MPI_Status *status)
{
    int count = -1, elements = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Get_elements(status, MPI_INT, &elements);
    MPI_Test_cancelled(status, &cancelled);
    co_test_say("%s: source %d tag %d count %d elements %d cancelled %d error %s\n", call, status->MPI_SOURCE,
                status->MPI_TAG, count, elements, cancelled,
                status->MPI_ERROR == SENTINEL      ? "kept"
                : status->MPI_ERROR == MPI_SUCCESS ? "success"
                                                   : "other");
}

static void mark(MPI_Status statuses[2])
{
    memset(statuses, 0x11, 2 * sizeof statuses[0]);
    statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = SENTINEL;
}

// requests[0] is the exchange, requests[1] a receive.
static void start(struct co_exchange *exchange, MPI_Request requests[2], int *incoming)
{
    int outgoing = 5;
    co_exchange_fill(exchange);
    co_exchange_start(exchange);
    requests[0] = exchange->request;
    MPI_Irecv(incoming, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&outgoing, 1, MPI_INT, (co_test_rank() + 1) % co_test_size(), 7, MPI_COMM_WORLD);
}

static void use_single_calls(struct co_exchange *exchange)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int incoming, flag = 0, index;
    start(exchange, requests, &incoming);
    mark(statuses);
    MPI_Wait(&requests[0], &statuses[0]);
    tell("Wait", &statuses[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    start(exchange, requests, &incoming);
    mark(statuses);
    while (!flag) {
        MPI_Request_get_status(requests[0], &flag, &statuses[0]);
    }
    tell("Request_get_status", &statuses[0]);
    mark(statuses);
    MPI_Test(&requests[0], &flag, &statuses[0]);
    co_test_expect(flag == 1, "Test after Request_get_status says no");
    tell("Test", &statuses[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    start(exchange, requests, &incoming);
    for (int i = 0; i < 2; i++) {
        mark(statuses);
        MPI_Waitany(2, requests, &index, &statuses[0]);
        if (index == 0) {
            tell("Waitany", &statuses[0]);
        }
    }
}

static void use_array_calls(struct co_exchange *exchange)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int incoming, flag = 0, count, indices[2];
    start(exchange, requests, &incoming);
    mark(statuses);
    MPI_Waitall(2, requests, statuses);
    tell("Waitall", &statuses[0]);
    start(exchange, requests, &incoming);
    mark(statuses);
    while (!flag) {
        MPI_Testall(2, requests, &flag, statuses);
    }
    tell("Testall", &statuses[0]);
    start(exchange, requests, &incoming);
    for (int done = 0; done < 2; done += count) {
        mark(statuses);
        MPI_Waitsome(2, requests, &count, indices, statuses);
        for (int i = 0; i < count; i++) {
            if (indices[i] == 0) {
                tell("Waitsome", &statuses[i]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int number = 0; number < 2; number++) {
        struct co_exchange exchange = {
            .comm = MPI_COMM_WORLD, .number = 3 + number, .bytes = 3000, .is_uneven = number == 1};
        co_exchange_open(&exchange);
        use_single_calls(&exchange);
        use_array_calls(&exchange);
        co_exchange_check(&exchange, "statuses");
        co_exchange_close(&exchange);
    }
    return co_test_finish();
}
