// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls of many ranks, several on each of some nodes and fewer on the last one, and on the first ranks alone.
// ranks: 7 16
// environment: CASTOFF_PROXY=yes CASTOFF_NODE_RANKS=3
// modes: native on
// timeout: 120
// expect: right bytes
// taken: MPI_Ialltoall MPI_Ialltoallv
// report: nodes > 2
#include "oracle/exchange.h"
#include "oracle/verdict.h"

static void run(MPI_Comm comm, int number, size_t bytes)
{
    struct co_exchange exchange = {.comm = comm, .number = number, .bytes = bytes, .is_uneven = number % 2 == 1};
    co_exchange_open(&exchange);
    co_exchange_fill(&exchange);
    co_exchange_start(&exchange);
    MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
    co_exchange_check(&exchange, "many ranks");
    co_exchange_close(&exchange);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 3000, 40000};
    int number = 0;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int members = 2 + co_test_size() % 2; members <= co_test_size(); members += 2) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, co_test_rank() < members ? 0 : MPI_UNDEFINED, 0, &comm);
        for (int i = 0; i < 6; i++) {
            number++;
            if (comm != MPI_COMM_NULL) {
                run(comm, number, sizes[i / 2]);
            }
        }
        if (comm != MPI_COMM_NULL) {
            MPI_Comm_free(&comm);
        }
    }
    return co_test_finish();
}
