// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls of equal and unequal blocks of many sizes, in place and not, some without any bytes, on communicators of
// all sizes from one rank up: halves, the whole in reversed order, each rank alone. The same buffers again, and other
// ones each time. To 16 ranks: tests/long/ialltoall_ranks_test.sh.
// ranks: 1 2 3 4
// environment: CASTOFF_PROXY=yes
// expect: right bytes, gaps untouched
// taken: MPI_Ialltoall MPI_Ialltoallv
// report: ranks < 2 or counters["proxy_calls"] > 100
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#define ROOM 5000000 // of a member's blocks: many members leave out the longest ones

static int number;

static void run(MPI_Comm comm, size_t bytes, bool is_uneven, bool is_in_place)
{
    struct co_exchange exchange = {
        .comm = comm, .number = ++number, .bytes = bytes, .is_uneven = is_uneven, .is_in_place = is_in_place};
    int members;
    MPI_Comm_size(comm, &members);
    if (bytes * (size_t)members > ROOM) {
        return;
    }
    co_exchange_open(&exchange);
    for (int time = 0; time < 2; time++) {
        co_exchange_fill(&exchange);
        co_exchange_start(&exchange);
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        co_test_expect(exchange.request == MPI_REQUEST_NULL, "request kept");
        co_exchange_check(&exchange, "sizes");
    }
    co_exchange_close(&exchange);
}

static void run_all(MPI_Comm comm)
{
    static const size_t sizes[] = {0, 1, 7, 64, 1000, 4096, 16384, 16385, 65536, 100003, 1000003};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        for (int kind = 0; kind < 4; kind++) {
            run(comm, sizes[i], kind % 2 == 1, kind / 2 == 1);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm half, reversed;
    MPI_Init(&argc, &argv);
    co_test_begin();
    run_all(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, co_test_rank() % 2, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -co_test_rank(), &reversed);
    run_all(half);
    run_all(reversed);
    run_all(MPI_COMM_SELF);
    MPI_Comm_free(&half);
    MPI_Comm_free(&reversed);
    return co_test_finish();
}
