// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads, each with collectives on a communicator of its own at the same
// time, while the main thread uses a further one. Another pair of threads starts an Iallgather in one
// thread and completes it in the other. Skipped where stock does not provide the level.
// ranks: 2 3
// expect: each thread gets its own communicator's bytes
// taken: MPI_Bcast MPI_Allgather MPI_Iallgather
#include "oracle/verdict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 60
#define LARGEST 40000

struct worker {
    pthread_t thread;
    int index;
    MPI_Comm comm;
    uint64_t digest;
    int wrong;
};

struct relay {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    MPI_Request request;
    bool full;
};

static void check(struct worker *worker, const void *buffer, size_t bytes, uint64_t seed)
{
    worker->digest = co_test_digest(worker->digest, buffer, bytes);
    worker->wrong += co_test_pattern_mismatch(buffer, bytes, seed) != bytes;
}

static void run_round(struct worker *worker, unsigned char *send, unsigned char *receive, int round)
{
    size_t bytes = (size_t)((round * 1237 + worker->index * 311) % LARGEST);
    int count = (int)bytes;
    int sender = worker->index * 100;
    int root = (round + worker->index) % co_test_size();
    uint64_t seed = co_test_seed(sender + root, round, bytes);
    if (co_test_rank() == root) {
        co_test_pattern_fill(send, bytes, seed);
    }
    MPI_Bcast(send, count, MPI_BYTE, root, worker->comm);
    check(worker, send, bytes, seed);
    co_test_pattern_fill(send, bytes, co_test_seed(sender + co_test_rank(), -round, bytes));
    if (round % 2 == 0) {
        MPI_Allgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, worker->comm);
    } else {
        MPI_Request request;
        MPI_Iallgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, worker->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int r = 0; r < co_test_size(); r++) {
        check(worker, receive + (size_t)r * bytes, bytes, co_test_seed(sender + r, -round, bytes));
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    unsigned char *send = malloc(LARGEST);
    unsigned char *receive = malloc((size_t)LARGEST * (size_t)co_test_size());
    for (int round = 0; round < ROUNDS; round++) {
        run_round(worker, send, receive, round);
    }
    free(receive);
    free(send);
    return NULL;
}

static void *complete_relayed(void *argument)
{
    struct relay *relay = argument;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&relay->lock);
        while (!relay->full) {
            pthread_cond_wait(&relay->changed, &relay->lock);
        }
        MPI_Request request = relay->request;
        pthread_mutex_unlock(&relay->lock);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        pthread_mutex_lock(&relay->lock);
        relay->full = false;
        pthread_cond_signal(&relay->changed);
        pthread_mutex_unlock(&relay->lock);
    }
    return NULL;
}

// Starts here, completes in another thread.
static void relay_requests(void)
{
    static int all[64];
    struct relay relay = {.full = false};
    pthread_t completer;
    pthread_mutex_init(&relay.lock, NULL);
    pthread_cond_init(&relay.changed, NULL);
    pthread_create(&completer, NULL, complete_relayed, &relay);
    for (int i = 0; i < ROUNDS; i++) {
        int value = 1000 * i + co_test_rank();
        pthread_mutex_lock(&relay.lock);
        MPI_Iallgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &relay.request);
        relay.full = true;
        pthread_cond_signal(&relay.changed);
        while (relay.full) {
            pthread_cond_wait(&relay.changed, &relay.lock);
        }
        pthread_mutex_unlock(&relay.lock);
        for (int r = 0; r < co_test_size(); r++) {
            co_test_expect(all[r] == 1000 * i + r, "relayed %d: block %d is %d", i, r, all[r]);
        }
    }
    pthread_join(completer, NULL);
}

int main(int argc, char **argv)
{
    int provided;
    struct worker workers[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    co_test_begin();
    if (provided != MPI_THREAD_MULTIPLE) {
        return co_test_skip("MPI_THREAD_MULTIPLE is not provided");
    }
    memset(workers, 0, sizeof workers);
    for (int t = 0; t < THREADS; t++) {
        workers[t].index = t;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 1; t < THREADS; t++) {
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    }
    work(&workers[0]);
    for (int t = 0; t < THREADS; t++) {
        if (t > 0) {
            pthread_join(workers[t].thread, NULL);
        }
        co_test_expect(workers[t].wrong == 0, "thread %d: %d blocks wrong", t, workers[t].wrong);
        co_test_absorb(&workers[t].digest, sizeof workers[t].digest);
        MPI_Comm_free(&workers[t].comm);
    }
    relay_requests();
    return co_test_finish();
}
