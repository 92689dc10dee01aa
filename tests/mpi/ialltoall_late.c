// SPDX-License-Identifier: BSD-3-Clause
// A member that comes late: the others wait in each kind of completion call, and a native message of theirs is what
// brings it along, so their wait must not leave native MPI alone.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: ends, with the right bytes
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG_MESSAGE = 3 << 20 }; // one that native does not send without its receiver

static void complete(MPI_Request *request, int way)
{
    int flag = 0, index;
    switch (way) {
    case 0:
        MPI_Wait(request, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
        break;
    case 2:
        MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
        break;
    default:
        while (!flag) {
            MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        }
    }
}

// The late one receives a long message from each before it calls.
static void run(int number, unsigned char *message)
{
    struct co_exchange exchange = {.comm = MPI_COMM_WORLD, .number = number, .bytes = 3000, .is_uneven = number % 2};
    const struct timespec pause = {0, 20000000};
    int late = number % co_test_size();
    MPI_Request send = MPI_REQUEST_NULL;
    co_exchange_open(&exchange);
    co_exchange_fill(&exchange);
    if (co_test_rank() == late) {
        nanosleep(&pause, NULL);
        for (int r = 0; r < co_test_size() - 1; r++) {
            MPI_Recv(message, LONG_MESSAGE, MPI_BYTE, MPI_ANY_SOURCE, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Isend(message, LONG_MESSAGE, MPI_BYTE, late, number, MPI_COMM_WORLD, &send);
    }
    co_exchange_start(&exchange);
    complete(&exchange.request, number % 4);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    co_exchange_check(&exchange, "late");
    co_exchange_close(&exchange);
}

int main(int argc, char **argv)
{
    unsigned char *message = malloc(LONG_MESSAGE);
    MPI_Init(&argc, &argv);
    co_test_begin();
    memset(message, 1, LONG_MESSAGE);
    for (int number = 0; number < 12; number++) {
        run(number, message);
    }
    free(message);
    return co_test_finish();
}
