// SPDX-License-Identifier: BSD-3-Clause
// Persistent all-to-alls of equal and unequal blocks, in place and not: made once, started many times with other data
// each time, in another order on each rank, beside nonblocking ones of the same communicator; the handle never changes.
// One that was never started is freed.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// mpirun: --mca coll basic,self,libnbc
// expect: right bytes, handles kept
// taken: MPIX_Alltoall_init MPIX_Alltoallv_init MPI_Ialltoall
#include "oracle/exchange.h"
#include "oracle/verdict.h"

enum { PLANS = 6, ROUNDS = 12 };

static struct co_exchange plans[PLANS];
static MPI_Request handles[PLANS];

static void make_all(MPI_Comm comm)
{
    static const size_t sizes[] = {8, 4000, 100003, 500000, 64, 3000};
    for (int i = 0; i < PLANS; i++) {
        plans[i] = (struct co_exchange){
            .comm = comm, .number = i, .bytes = sizes[i], .is_uneven = i % 2 == 1, .is_in_place = i >= 4};
        co_exchange_open(&plans[i]);
        co_exchange_plan(&plans[i]);
        handles[i] = plans[i].request;
        co_test_expect(handles[i] != MPI_REQUEST_NULL, "request %d is null", i);
    }
}

static void start_all(int round)
{
    MPI_Request requests[PLANS];
    for (int i = 0; i < PLANS; i++) {
        co_exchange_fill(&plans[i]);
        requests[i] = plans[i].request;
    }
    if (round % 3 == 0) {
        MPI_Startall(PLANS, requests);
    } else {
        for (int i = 0; i < PLANS; i++) {
            MPI_Start(&plans[(i * 5 + co_test_rank() + round) % PLANS].request);
        }
    }
}

static void complete_all(int round)
{
    MPI_Request requests[PLANS];
    int index;
    for (int i = 0; i < PLANS; i++) {
        requests[i] = plans[i].request;
    }
    if (round % 2 == 0) {
        MPI_Waitall(PLANS, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < PLANS && round % 2 == 1; i++) {
        MPI_Waitany(PLANS, requests, &index, MPI_STATUS_IGNORE);
        co_test_expect(index >= 0 && index < PLANS, "Waitany: index %d", index);
    }
    for (int i = 0; i < PLANS; i++) {
        co_test_expect(requests[i] == handles[i], "the handle of request %d has changed", i);
        co_exchange_check(&plans[i], "persistent");
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    make_all(comm);
    struct co_exchange never = {.comm = comm, .number = 90, .bytes = 100}, beside = {.comm = comm, .bytes = 2000};
    co_exchange_open(&never);
    co_exchange_plan(&never);
    for (int round = 0; round < ROUNDS; round++) {
        beside.number = 100 + round;
        if (round < ROUNDS - 2) {
            co_exchange_open(&beside);
            co_exchange_fill(&beside);
            co_exchange_start(&beside);
        } else if (round == ROUNDS - 2) {
            MPI_Request_free(&never.request);
        }
        start_all(round);
        complete_all(round);
        if (round < ROUNDS - 2) {
            MPI_Wait(&beside.request, MPI_STATUS_IGNORE);
            co_exchange_check(&beside, "beside");
            co_exchange_close(&beside);
        }
    }
    for (int i = 0; i < PLANS; i++) {
        MPI_Request_free(&plans[i].request);
        co_test_expect(plans[i].request == MPI_REQUEST_NULL, "request %d kept", i);
        co_exchange_close(&plans[i]);
    }
    co_exchange_close(&never);
    MPI_Comm_free(&comm);
    return co_test_finish();
}
