// SPDX-License-Identifier: BSD-3-Clause
// Threads with a communicator each: all-to-alls of equal and unequal blocks at the same time, completed by different
// calls, while another thread broadcasts.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: right bytes in all threads
// taken: MPI_Ialltoall MPI_Ialltoallv
#include "oracle/exchange.h"
#include "oracle/verdict.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60 };

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int number;
    size_t wrong;
};

static void complete(MPI_Request *request, int way)
{
    int flag = 0;
    if (way == 0) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    } else if (way == 1) {
        MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    }
    while (way == 2 && !flag) {
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    }
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    static const size_t sizes[] = {8, 1000, 40000, 200000};
    for (int round = 0; round < ROUNDS; round++) {
        struct co_exchange exchange = {.comm = worker->comm,
                                       .number = worker->number * ROUNDS + round,
                                       .bytes = sizes[round % 4],
                                       .is_uneven = round % 2 == 1};
        co_exchange_open(&exchange);
        co_exchange_fill(&exchange);
        co_exchange_start(&exchange);
        complete(&exchange.request, round % 3);
        worker->wrong += co_exchange_wrong(&exchange);
        co_exchange_close(&exchange);
    }
    return NULL;
}

static void *broadcast(void *arg)
{
    struct worker *worker = arg;
    for (int round = 0; round < ROUNDS; round++) {
        int word = round * 7 + worker->number, mine = word;
        MPI_Bcast(&word, 1, MPI_INT, round % co_test_size(), worker->comm);
        worker->wrong += word != mine;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS] = {0};
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    co_test_begin();
    if (provided < MPI_THREAD_MULTIPLE) {
        return co_test_skip("native MPI has no MPI_THREAD_MULTIPLE");
    }
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&workers[i].thread, NULL, i == THREADS - 1 ? broadcast : work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        co_test_expect(workers[i].wrong == 0, "thread %d: %zu bytes are wrong", i, workers[i].wrong);
        MPI_Comm_free(&workers[i].comm);
    }
    return co_test_finish();
}
