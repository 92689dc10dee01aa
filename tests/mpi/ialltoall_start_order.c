// SPDX-License-Identifier: BSD-3-Clause
// A start must not wait for anybody: rank 0 starts, then sends; the others receive, then start theirs. And no byte
// comes into a receive buffer before its owner has started: the others look, while rank 0 has long started.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: ends, with the right bytes; a buffer is untouched until its owner calls
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#include <time.h>

static void run(int number, size_t bytes)
{
    struct co_exchange exchange = {
        .comm = MPI_COMM_WORLD, .number = number, .bytes = bytes, .is_uneven = number % 2 == 1};
    int token = number, first = number % co_test_size();
    const struct timespec pause = {0, 2000000};
    co_exchange_open(&exchange);
    for (int time = 0; time < 2; time++) { // the second time the same buffers
        co_exchange_fill(&exchange);
        if (co_test_rank() == first) {
            co_exchange_start(&exchange);
            for (int r = 0; r < co_test_size(); r++) {
                if (r != first) {
                    MPI_Ssend(&token, 1, MPI_INT, r, number, MPI_COMM_WORLD);
                }
            }
        } else {
            MPI_Recv(&token, 1, MPI_INT, first, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            nanosleep(&pause, NULL); // bytes that should not would be there by now
            co_test_expect(co_exchange_is_untouched(&exchange), "bytes came before the call of their receiver");
            co_exchange_start(&exchange);
        }
        co_test_expect(exchange.request != MPI_REQUEST_NULL, "null request at start");
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        co_exchange_check(&exchange, "start order");
    }
    co_exchange_close(&exchange);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 8, 5000, 100000, 1000003};
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int number = 0; number < 20; number++) {
        run(number, sizes[number % 5]);
    }
    return co_test_finish();
}
