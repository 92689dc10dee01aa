// SPDX-License-Identifier: BSD-3-Clause
// What matched probes are for: two threads of each rank look for messages of any source and tag, and each message is
// received once, with the bytes and the size that the look announced.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// modes: native off on faults
// taken: MPI_Improbe MPI_Mrecv
// expect: every message once
#include "oracle/verdict.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MESSAGES 400 // for each rank
#define THREADS 2
#define MOST 9000

static atomic_int left = MESSAGES;
static atomic_int seen[MESSAGES];

static int bytes_of(int tag)
{
    return 4 + tag * 37 % (MOST - 4);
}

static void *take_messages(void *unused)
{
    unsigned char *buffer = malloc(MOST);
    (void)unused;
    while (atomic_load(&left) > 0) {
        MPI_Message message;
        MPI_Status status;
        int flag, count;
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
        if (!flag) {
            continue;
        }
        int source = status.MPI_SOURCE, tag = status.MPI_TAG;
        MPI_Get_count(&status, MPI_BYTE, &count);
        MPI_Mrecv(buffer, count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        uint64_t seed = co_test_seed(source, tag, (size_t)count);
        if (count != bytes_of(tag) || co_test_pattern_mismatch(buffer, (size_t)count, seed) != (size_t)count) {
            atomic_fetch_add(&seen[tag], 100);
        }
        atomic_fetch_add(&seen[tag], 1);
        atomic_fetch_sub(&left, 1);
    }
    free(buffer);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    co_test_begin();
    if (level < MPI_THREAD_MULTIPLE) {
        return co_test_skip("no MPI_THREAD_MULTIPLE");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, take_messages, NULL);
    }
    for (int tag = 0; tag < MESSAGES; tag++) {
        static unsigned char buffer[MOST];
        int to = (co_test_rank() + 1 + tag % (co_test_size() - 1)) % co_test_size();
        size_t bytes = (size_t)bytes_of(tag);
        co_test_pattern_fill(buffer, bytes, co_test_seed(co_test_rank(), tag, bytes));
        MPI_Send(buffer, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int tag = 0; tag < MESSAGES; tag++) {
        co_test_expect(atomic_load(&seen[tag]) == 1, "message %d came %d times", tag, atomic_load(&seen[tag]));
    }
    return co_test_finish();
}
