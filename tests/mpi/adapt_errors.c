// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments while sides are tried: such calls are native's, on one rank or on all, and count on none, so that
// all members still know at which call they exchange their words. A communicator is freed with an Iallgather pending,
// threads use one each, and each error is native's.
// ranks: 3
// expect: same errors and bytes in every mode
// environment: CASTOFF_BCAST=auto CASTOFF_IBCAST=auto CASTOFF_ALLGATHER=auto CASTOFF_IALLGATHER=auto CASTOFF_ADAPT=yes
// report: counters["adapt_trials"] > 0
// report: counters["adapt_ended"] == 0
#include "oracle/verdict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 5000
#define THREADS 3

static void expect_class(int error, int expected, const char *what)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    co_test_expect(class == expected, "%s: class %d in place of %d", what, class, expected);
}

// How many blocks were wrong.
static int use(MPI_Comm comm, int calls, int salt)
{
    unsigned char *block = malloc(BYTES), *all = malloc(BYTES * (size_t)co_test_size());
    int wrong = 0;
    for (int i = 0; i < calls; i++) {
        int root = i % co_test_size(), rank = co_test_rank();
        uint64_t seed = co_test_seed(salt, i, BYTES);
        memset(block, 0xee, BYTES);
        if (rank == root) {
            co_test_pattern_fill(block, BYTES, seed);
        }
        MPI_Bcast(block, BYTES, MPI_BYTE, root, comm);
        wrong += co_test_pattern_mismatch(block, BYTES, seed) != BYTES;
        co_test_pattern_fill(block, BYTES, co_test_seed(salt + rank, i, BYTES));
        MPI_Allgather(block, BYTES, MPI_BYTE, all, BYTES, MPI_BYTE, comm);
        for (int r = 0; r < co_test_size(); r++) {
            seed = co_test_seed(salt + r, i, BYTES);
            wrong += co_test_pattern_mismatch(all + (size_t)r * BYTES, BYTES, seed) != BYTES;
        }
    }
    free(block);
    free(all);
    return wrong;
}

static void make_errors(MPI_Comm comm, bool alone)
{
    char byte = 0, all[8];
    if (alone && co_test_rank() != 1) {
        return;
    }
    expect_class(MPI_Bcast(&byte, -1, MPI_BYTE, 0, comm), MPI_ERR_COUNT, "count");
    expect_class(MPI_Bcast(&byte, 1, MPI_BYTE, 99, comm), MPI_ERR_ROOT, "root");
    expect_class(MPI_Bcast(&byte, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE, "type");
    expect_class(MPI_Allgather(&byte, -1, MPI_BYTE, all, 1, MPI_BYTE, comm), MPI_ERR_COUNT, "count of an allgather");
}

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int salt, wrong;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->wrong = use(worker->comm, 60, worker->salt);
    return NULL;
}

static void use_threads(void)
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i].salt = 1000 * i;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        co_test_expect(workers[i].wrong == 0, "thread %d: %d blocks", i, workers[i].wrong);
        MPI_Comm_free(&workers[i].comm);
    }
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    co_test_begin();
    MPI_Comm comm;
    for (int round = 0; round < 12; round++) {
        MPI_Request request;
        char mine = (char)co_test_rank(), all[16];
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (int i = 0; i < round; i++) {
            co_test_expect(use(comm, 1, i) == 0, "call %d", i);
            make_errors(comm, i % 2 == 0);
        }
        MPI_Iallgather(&mine, 1, MPI_CHAR, all, 1, MPI_CHAR, comm, &request);
        co_test_expect(use(comm, round % 3, 77) == 0, "beside an Iallgather");
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < co_test_size(); r++) {
            co_test_expect(all[r] == r, "block %d of a freed communicator", r);
        }
    }
    if (level == MPI_THREAD_MULTIPLE) {
        use_threads();
    }
    return co_test_finish();
}
