// SPDX-License-Identifier: BSD-3-Clause
// Threads that start and complete persistent collectives of one communicator at the same time, each its own request, in
// no order between them: MPI orders only the calls that make the requests, which the first thread does. Another thread
// computes other collectives on the communicator meanwhile.
// ranks: 2 3
// mpirun: --mca coll basic,self,libnbc
// expect: every start delivers its own ints
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/planned.h"
#include "oracle/verdict.h"

#include <pthread.h>

#define THREADS 4
#define EACH 3
#define STARTS 60

struct starter {
    struct co_planned plans[EACH];
    int wrong;
};

static void *run(void *arg)
{
    struct starter *starter = arg;
    MPI_Request requests[EACH];
    for (int time = 0; time < STARTS; time++) {
        for (int i = 0; i < EACH; i++) {
            co_planned_fill(&starter->plans[i]);
            requests[i] = starter->plans[i].request;
        }
        MPI_Startall(EACH, requests);
        MPI_Waitall(EACH, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < EACH; i++) {
            starter->wrong += co_planned_wrong(&starter->plans[i]);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct starter starters[THREADS];
    pthread_t threads[THREADS];
    int level, all[8];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    co_test_begin();
    if (level < MPI_THREAD_MULTIPLE) {
        return co_test_skip("the MPI library has no MPI_THREAD_MULTIPLE");
    }
    for (int i = 0; i < THREADS * EACH; i++) {
        struct co_planned *planned = &starters[i / EACH].plans[i % EACH];
        *planned = (struct co_planned){.kind = (enum co_planned_kind)(i % CO_PLANNED_KINDS),
                                       .number = i,
                                       .ints = 1 + i * i * 40,
                                       .is_gap = i % 5 == 1};
        co_planned_make(planned, MPI_COMM_WORLD);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, run, &starters[i]);
    }
    for (int time = 0; time < STARTS; time++) {
        MPI_Allgather(&time, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        co_test_expect(all[co_test_size() - 1] == time, "allgather %d", time);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        co_test_expect(starters[i].wrong == 0, "thread %d: %d wrong", i, starters[i].wrong);
        for (int j = 0; j < EACH; j++) {
            co_planned_free(&starters[i].plans[j]);
        }
    }
    return co_test_finish();
}
