// SPDX-License-Identifier: BSD-3-Clause
// 64 all-to-alls outstanding on three communicators at once, of sizes from nothing to several pieces, completed in
// reverse order, in the order of start and by Waitall, with a broadcast and messages in between.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: every operation delivers its own bytes, no request is null or used twice
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#define OUTSTANDING 64

static struct co_exchange exchanges[OUTSTANDING];

static size_t size_of(int slot)
{
    static const size_t sizes[] = {0, 1, 48, 1000, 4097, 20000, 70000};
    return sizes[slot % 7];
}

static void start_all(MPI_Comm comms[3], int round)
{
    for (int i = 0; i < OUTSTANDING; i++) {
        struct co_exchange *exchange = &exchanges[i];
        *exchange = (struct co_exchange){.comm = comms[i % 3],
                                         .number = round * OUTSTANDING + i,
                                         .bytes = size_of(i),
                                         .is_uneven = i % 4 == 3,
                                         .is_in_place = i % 5 == 4};
        co_exchange_open(exchange);
        co_exchange_fill(exchange);
    }
    // Each rank goes through the communicators in an order of its own; within one the order is everybody's.
    for (int turn = 0; turn < 3; turn++) {
        for (int i = (turn + co_test_rank()) % 3; i < OUTSTANDING; i += 3) {
            co_exchange_start(&exchanges[i]);
            co_test_expect(exchanges[i].request != MPI_REQUEST_NULL, "request %d is null", i);
        }
    }
}

static void complete_all(int round)
{
    MPI_Request requests[OUTSTANDING];
    for (int i = 0; i < OUTSTANDING; i++) {
        requests[i] = exchanges[i].request;
        for (int j = 0; j < i && exchanges[i].bytes > 0; j++) { // native's for no bytes are one
            co_test_expect(requests[j] != requests[i], "requests %d and %d are the same", i, j);
        }
    }
    if (round == 2) {
        MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < OUTSTANDING && round < 2; i++) {
        MPI_Wait(&requests[round == 0 ? OUTSTANDING - 1 - i : i], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < OUTSTANDING; i++) {
        co_test_expect(requests[i] == MPI_REQUEST_NULL, "request %d kept after completion", i);
        co_exchange_check(&exchanges[i], "outstanding");
        co_exchange_close(&exchanges[i]);
    }
}

static void call_others(void)
{
    int token = co_test_rank(), other = -1, last = co_test_size() - 1;
    MPI_Bcast(&token, 1, MPI_INT, last, MPI_COMM_WORLD);
    co_test_expect(token == last, "wrong broadcast");
    MPI_Sendrecv(&token, 1, MPI_INT, (co_test_rank() + 1) % co_test_size(), 3, &other, 1, MPI_INT, MPI_ANY_SOURCE, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    co_test_expect(other == last, "wrong message");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 3; round++) {
        MPI_Comm comms[3] = {MPI_COMM_WORLD};
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -co_test_rank(), &comms[2]);
        start_all(comms, round);
        call_others();
        complete_all(round);
        MPI_Comm_free(&comms[1]);
        MPI_Comm_free(&comms[2]);
    }
    return co_test_finish();
}
