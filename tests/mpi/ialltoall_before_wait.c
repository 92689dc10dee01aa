// SPDX-License-Identifier: BSD-3-Clause
// Nobody calls MPI while the bytes come: all ranks start, sleep, and look into their receive buffers before
// any further call.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// modes: on faults
// expect: the bytes are there before MPI_Wait
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#include <time.h>

// A machine that is busy may take longer to bring a few bytes; who waits looks into memory alone.
#define SECONDS 50

static void run(int number, size_t bytes)
{
    struct co_exchange exchange = {
        .comm = MPI_COMM_WORLD, .number = number, .bytes = bytes, .is_uneven = number % 2 == 1};
    const struct timespec pause = {0, 50000000};
    co_exchange_open(&exchange);
    co_exchange_fill(&exchange);
    co_exchange_start(&exchange);
    for (int looks = 0; co_exchange_wrong(&exchange) > 0 && looks < SECONDS * 20; looks++) {
        nanosleep(&pause, NULL);
    }
    size_t wrong = co_exchange_wrong(&exchange);
    co_test_expect(wrong == 0, "%zu bytes were not there before MPI_Wait", wrong);
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    co_exchange_check(&exchange, "before wait");
    co_exchange_close(&exchange);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 8, 50000, 50000, 1000003, 1000003};
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int number = 0; number < 6; number++) {
        run(number, sizes[number]);
    }
    return co_test_finish();
}
