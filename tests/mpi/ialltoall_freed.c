// SPDX-License-Identifier: BSD-3-Clause
// A communicator is freed while its all-to-alls are pending, of equal and unequal blocks and persistent ones that are
// active; another one is made in its place meanwhile. Only with castoff: Open MPI 4.1.4 itself ends by SIGSEGV.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// modes: on
// expect: each call delivers its own bytes
// taken: MPI_Ialltoall MPI_Ialltoallv MPIX_Alltoall_init
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#include <stdbool.h>

#define CALLS 12

int main(int argc, char **argv)
{
    struct co_exchange exchanges[CALLS];
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < 4; round++) {
        MPI_Comm comm, next;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < CALLS; i++) {
            bool is_planned = i % 3 == 2;
            exchanges[i] = (struct co_exchange){
                .comm = comm, .number = round * CALLS + i, .bytes = (size_t)(1 + 9000 * i), .is_uneven = i % 3 == 1};
            co_exchange_open(&exchanges[i]);
            co_exchange_fill(&exchanges[i]);
            if (is_planned) {
                co_exchange_plan(&exchanges[i]);
                MPI_Start(&exchanges[i].request);
            } else {
                co_exchange_start(&exchanges[i]);
            }
        }
        MPI_Comm_free(&comm);
        MPI_Comm_dup(MPI_COMM_WORLD, &next);
        for (int i = 0; i < CALLS; i++) {
            MPI_Wait(&exchanges[i].request, MPI_STATUS_IGNORE);
            if (exchanges[i].request != MPI_REQUEST_NULL) {
                MPI_Request_free(&exchanges[i].request);
            }
            co_exchange_check(&exchanges[i], "freed");
            co_exchange_close(&exchanges[i]);
        }
        MPI_Comm_free(&next);
    }
    return co_test_finish();
}
