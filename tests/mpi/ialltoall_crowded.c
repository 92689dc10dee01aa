// SPDX-License-Identifier: BSD-3-Clause
// More all-to-alls on one communicator than a proxy takes at a time, which all ranks but the first begin only when one
// of another communicator, that the first has begun behind them, is over; and which the others complete while the first
// one waits for their message: what waited for room has to begin all the same.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: ends, with the right bytes of every operation
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#include <stdlib.h>

#define MANY 1500

static struct co_exchange many[MANY], one;

static void exchange_make(struct co_exchange *exchange, MPI_Comm comm, int number)
{
    *exchange = (struct co_exchange){.comm = comm, .number = number, .bytes = 24, .is_uneven = number % 3 == 2};
    co_exchange_open(exchange);
    co_exchange_fill(exchange);
}

static void start_many(void)
{
    for (int i = 0; i < MANY; i++) {
        co_exchange_start(&many[i]);
    }
}

static void end_many(void)
{
    for (int i = 0; i < MANY; i++) {
        MPI_Wait(&many[i].request, MPI_STATUS_IGNORE);
        co_exchange_check(&many[i], "one of many");
    }
}

static void run_one(void)
{
    co_exchange_start(&one);
    MPI_Wait(&one.request, MPI_STATUS_IGNORE);
    co_exchange_check(&one, "the other communicator's");
}

int main(int argc, char **argv)
{
    MPI_Comm comms[2];
    int token = 7;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 0; i < MANY; i++) {
        exchange_make(&many[i], comms[0], i);
    }
    exchange_make(&one, comms[1], MANY);
    if (co_test_rank() == 0) {
        start_many();
        run_one();
        for (int from = 1; from < co_test_size(); from++) {
            MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        end_many();
    } else {
        run_one();
        start_many();
        end_many();
        MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < MANY; i++) {
        co_exchange_close(&many[i]);
    }
    co_exchange_close(&one);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&comms[i]);
    }
    return co_test_finish();
}
