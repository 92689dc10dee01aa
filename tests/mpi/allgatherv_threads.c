// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads, each with unequal allgathers, blocking and not, and nonblocking broadcasts on a
// communicator of its own at the same time. Every other round some ranks have nothing, or one has all. Skipped where
// stock does not provide the level.
// ranks: 2 3
// expect: each thread gets its own communicator's bytes, and nothing is written between them
// taken: MPI_Allgatherv MPI_Iallgatherv MPI_Ibcast
#include "oracle/verdict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 48
#define RANKS 8
#define GAP 7
#define MARK 0x5a
#define LARGEST 30000

struct worker {
    pthread_t thread;
    int index;
    MPI_Comm comm;
    uint64_t digest;
    int wrong;
    int counts[RANKS], places[RANKS], end;
    unsigned char *receive, *word;
};

static int count_of(const struct worker *worker, int round, int of)
{
    int size = co_test_size(), turn = round + worker->index;
    switch (turn % 4) {
    case 0:
        return (of * 7919 + turn * 311) % 700;
    case 1:
        return of == turn % size ? LARGEST : 0;
    case 2:
        return (of + turn) % 2 == 0 ? 0 : 40 + of;
    default:
        return (of * 5003 + turn * 1237) % (LARGEST / 4);
    }
}

// The last rank's block first.
static void lay_out(struct worker *worker, int round)
{
    worker->end = GAP;
    for (int of = co_test_size() - 1; of >= 0; of--) {
        worker->counts[of] = count_of(worker, round, of);
        worker->places[of] = worker->end;
        worker->end += worker->counts[of] + GAP;
    }
    memset(worker->receive, MARK, (size_t)worker->end);
}

static uint64_t seed_of(const struct worker *worker, int round, int of)
{
    return co_test_seed(worker->index * 100 + of, round, (size_t)worker->counts[of]);
}

static void check(struct worker *worker, int round)
{
    for (int of = 0; of < co_test_size(); of++) {
        unsigned char *block = worker->receive + worker->places[of];
        size_t bytes = (size_t)worker->counts[of];
        worker->digest = co_test_digest(worker->digest, block, bytes);
        worker->wrong += co_test_pattern_mismatch(block, bytes, seed_of(worker, round, of)) != bytes;
        memset(block, MARK, bytes);
    }
    for (int i = 0; i < worker->end; i++) {
        worker->wrong += worker->receive[i] != MARK;
    }
}

static void run_round(struct worker *worker, unsigned char *send, int round)
{
    MPI_Request requests[2];
    int self = co_test_rank(), root = round % co_test_size();
    lay_out(worker, round);
    int count = worker->counts[self];
    co_test_pattern_fill(send, (size_t)count, seed_of(worker, round, self));
    memset(worker->word, self == root ? round : MARK, 64);
    MPI_Ibcast(worker->word, 64, MPI_BYTE, root, worker->comm, &requests[0]);
    if (round % 2 == 0) {
        MPI_Allgatherv(send, count, MPI_BYTE, worker->receive, worker->counts, worker->places, MPI_BYTE, worker->comm);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else {
        MPI_Iallgatherv(send, count, MPI_BYTE, worker->receive, worker->counts, worker->places, MPI_BYTE, worker->comm,
                        &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    worker->wrong += worker->word[0] != round || worker->word[63] != round;
    check(worker, round);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    unsigned char *send = malloc(LARGEST);
    worker->receive = malloc((size_t)(LARGEST + GAP) * RANKS + GAP);
    worker->word = malloc(64);
    for (int round = 0; round < ROUNDS; round++) {
        run_round(worker, send, round);
    }
    free(worker->word);
    free(worker->receive);
    free(send);
    return NULL;
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
    return co_test_finish();
}
