// SPDX-License-Identifier: BSD-3-Clause
// MPI_Ialltoallv in place with blocks of no bytes among more than three ranks, started once and persistent. Only with
// castoff: Open MPI 4.1.4 itself brings wrong bytes.
// ranks: 4 5 7
// environment: CASTOFF_PROXY=yes
// mpirun: --mca coll basic,self,libnbc
// modes: on faults
// expect: right bytes
// taken: MPI_Ialltoallv MPIX_Alltoallv_init
#include "oracle/exchange.h"
#include "oracle/verdict.h"

static void run(int number, size_t bytes, bool is_planned)
{
    struct co_exchange exchange = {.comm = MPI_COMM_WORLD,
                                   .number = number,
                                   .bytes = bytes,
                                   .is_uneven = true,
                                   .is_in_place = true,
                                   .is_native_spared = true};
    co_exchange_open(&exchange);
    if (is_planned) {
        co_exchange_plan(&exchange);
    }
    for (int time = 0; time < 2; time++) {
        co_exchange_fill(&exchange);
        if (is_planned) {
            MPI_Start(&exchange.request);
        } else {
            co_exchange_start(&exchange);
        }
        MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
        co_exchange_check(&exchange, is_planned ? "planned" : "started");
    }
    if (is_planned) {
        MPI_Request_free(&exchange.request);
    }
    co_exchange_close(&exchange);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 1000, 4096, 16385, 100003};
    int number = 0;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        for (int turn = 0; turn < 4; turn++) {
            run(number, sizes[i], false);
            run(number++, sizes[i], true);
        }
    }
    return co_test_finish();
}
