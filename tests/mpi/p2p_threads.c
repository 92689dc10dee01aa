// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: threads of each rank send and receive at once, each pair by its tag on one communicator, each on
// a communicator of its own, and all of them from any source and any tag on one; two threads that wait for requests
// of different kinds; a thread in a native barrier while another waits for messages.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: every message arrives once, in order for its thread
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 300
#define LARGEST 20000

static MPI_Comm own[THREADS], shared;
static _Atomic int wrong;
static _Atomic long sum;

static size_t size_of(int round)
{
    static const size_t sizes[] = {4, 100, 4096, 5000, LARGEST};
    return sizes[round % 5];
}

// Thread `number` of each rank with the same one of the next and of the previous rank.
static void ring(int number, MPI_Comm comm, int tag)
{
    unsigned char *sent = malloc(LARGEST), *received = malloc(LARGEST);
    int to = (co_test_rank() + 1) % co_test_size(), from = (co_test_rank() + co_test_size() - 1) % co_test_size();
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = size_of(round);
        MPI_Request requests[2];
        MPI_Status status;
        co_test_pattern_fill(sent, bytes, co_test_seed(co_test_rank(), round, (size_t)number));
        if (round % 2 == 0) {
            MPI_Isend(sent, (int)bytes, MPI_BYTE, to, tag, comm, &requests[0]);
            MPI_Recv(received, LARGEST, MPI_BYTE, from, tag, comm, &status);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(received, LARGEST, MPI_BYTE, from, tag, comm, &requests[0]);
            MPI_Isend(sent, (int)bytes, MPI_BYTE, to, tag, comm, &requests[1]);
            MPI_Status statuses[2];
            MPI_Waitall(2, requests, statuses);
            status = statuses[0];
        }
        int count;
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += (size_t)count != bytes || status.MPI_SOURCE != from || status.MPI_TAG != tag ||
                 co_test_pattern_mismatch(received, bytes, co_test_seed(from, round, (size_t)number)) != bytes;
    }
    free(sent);
    free(received);
}

static void *run_by_tag(void *argument)
{
    int number = (int)(intptr_t)argument;
    ring(number, shared, number);
    return NULL;
}

static void *run_by_communicator(void *argument)
{
    int number = (int)(intptr_t)argument;
    ring(number, own[number], 7);
    return NULL;
}

// Whichever thread comes first takes it: only the sum is known.
static void *run_freely(void *argument)
{
    int number = (int)(intptr_t)argument, to = (co_test_rank() + 1) % co_test_size();
    for (int round = 0; round < ROUNDS; round++) {
        int value = number * ROUNDS + round, got = 0;
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, shared, &requests[0]);
        MPI_Issend(&value, 1, MPI_INT, to, number, shared, &requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        sum += got;
    }
    return NULL;
}

// Some threads sit in collectives of their communicators, in step over the ranks, while the others talk.
static void *run_beside_collectives(void *argument)
{
    int number = (int)(intptr_t)argument;
    if (number % 2 == 0) {
        ring(number, shared, number);
    } else {
        for (int round = 0; round < ROUNDS / 2; round++) {
            int one = 1, all = 0;
            MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, own[number]);
            MPI_Barrier(own[number]);
            wrong += all != co_test_size();
        }
    }
    return NULL;
}

static void run(void *(*body)(void *), const char *what)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    co_test_expect(wrong == 0, "%s: %d wrong", what, (int)wrong);
    wrong = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    co_test_begin();
    if (level < MPI_THREAD_MULTIPLE) {
        return co_test_skip("no MPI_THREAD_MULTIPLE");
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    }
    run(run_by_tag, "one communicator, a tag for each thread");
    run(run_by_communicator, "a communicator for each thread");
    run(run_freely, "any thread's messages");
    long values = (long)THREADS * ROUNDS;
    co_test_expect(sum == values * (values - 1) / 2, "messages of any thread were lost or came twice");
    run(run_beside_collectives, "beside collectives");
    MPI_Comm_free(&shared);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&own[i]);
    }
    return co_test_finish();
}
