// SPDX-License-Identifier: BSD-3-Clause
// More persistent collectives than there is room for in the node's shared memory, which is made small: the members
// agree about each, so that those which find no room are native's on all of them, and all are started together. Then
// all are freed and made once more: what was freed makes room.
// ranks: 3
// modes: native on
// mpirun: --mca coll basic,self,libnbc
// environment: CASTOFF_SHM_TEAM=16K
// expect: every start delivers its own ints
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
// report: calls["MPIX_Bcast_init"]["declined"]["no_memory_at_creation"] > 0
// report: calls["MPIX_Bcast_init"]["declined"]["no_memory_at_creation"] % ranks == 0
// report: calls["MPIX_Bcast_init"]["taken"] % ranks == 0
#include "oracle/planned.h"
#include "oracle/verdict.h"

#define MANY 4200

int main(int argc, char **argv)
{
    static struct co_planned planned[MANY];
    static MPI_Request requests[MANY];
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int time = 0; time < 2; time++) {
        for (int i = 0; i < MANY; i++) {
            planned[i] = (struct co_planned){
                .kind = (enum co_planned_kind)(i % CO_PLANNED_KINDS), .number = i, .ints = 1 + i % 40};
            co_planned_make(&planned[i], MPI_COMM_WORLD);
        }
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < MANY; i++) {
                co_planned_fill(&planned[i]);
                requests[i] = planned[i].request;
            }
            MPI_Startall(MANY, requests);
            MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
            for (int i = 0; i < MANY; i++) {
                co_planned_check(&planned[i]);
            }
        }
        for (int i = 0; i < MANY; i++) {
            co_planned_free(&planned[i]);
        }
    }
    return co_test_finish();
}
