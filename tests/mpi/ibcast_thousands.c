// SPDX-License-Identifier: BSD-3-Clause
// Thousands of nonblocking collectives outstanding on one communicator between hosts, of which one is late: each rank
// in turn. They are waited for in reverse order, or by MPI_Waitall. castoff moves the oldest of them, not all at once:
// what each turn looks at, and the memory for what is under way, must not grow with what the program has started.
// Where chunks are lost, copies that are kept for who may ask for them again are in that memory, too.
// ranks: 2 3
// mpirun: --mca coll basic,self,libnbc
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo
// modes: native off on faults
// expect: every operation delivers its own ints
// taken: MPI_Ibcast MPI_Iallgather MPI_Iallgatherv
// report: counters["bitmap_high_water_bytes"] <= 16384 or counters["faults_injected"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>

#define OPERATIONS 4000
#define EACH 5
#define RANKS 8

static int value_of(int rank, int operation, int item, int late)
{
    return 1 + item + EACH * (operation + OPERATIONS * (rank + RANKS * late));
}

// The first half of the ranks' blocks, or all of them.
static int count_of(int rank, int operation)
{
    return (rank + operation) % 2 == 0 ? EACH : EACH / 2;
}

static void start(int operation, int late, int *mine, int *all, MPI_Request *request)
{
    int self = co_test_rank(), size = co_test_size(), root = operation % size, counts[RANKS], places[RANKS];
    for (int item = 0; item < EACH; item++) {
        mine[item] = value_of(self, operation, item, late);
    }
    for (int rank = 0; rank < size; rank++) {
        counts[rank] = count_of(rank, operation);
        places[rank] = rank * EACH;
    }
    switch (operation % 3) {
    case 0:
        MPI_Ibcast(self == root ? mine : all + root * EACH, EACH, MPI_INT, root, MPI_COMM_WORLD, request);
        break;
    case 1:
        MPI_Iallgather(mine, EACH, MPI_INT, all, EACH, MPI_INT, MPI_COMM_WORLD, request);
        break;
    default:
        MPI_Iallgatherv(mine, counts[self], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD, request);
    }
}

static int wanted(int operation, int rank, int item, int late)
{
    bool is_there = operation % 3 == 0   ? rank == operation % co_test_size() && rank != co_test_rank()
                    : operation % 3 == 1 ? true
                                         : item < count_of(rank, operation);
    return is_there ? value_of(rank, operation, item, late) : 0;
}

static void check(const int *all, int late)
{
    int wrong = 0;
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (int rank = 0; rank < co_test_size(); rank++) {
            for (int item = 0; item < EACH; item++) {
                wrong += *all++ != wanted(operation, rank, item, late);
            }
        }
    }
    co_test_expect(wrong == 0, "rank %d was late: %d ints are wrong", late, wrong);
}

// All others have started all of theirs when it begins.
static void run(int late, int *mine, int *all, MPI_Request *requests)
{
    int self = co_test_rank(), size = co_test_size();
    for (int other = 0; self == late && other < size; other++) {
        if (other != late) {
            MPI_Recv(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < OPERATIONS; i++) {
        start(i, late, mine + (size_t)i * EACH, all + (size_t)i * EACH * (size_t)size, &requests[i]);
    }
    if (self != late) {
        MPI_Send(NULL, 0, MPI_INT, late, 0, MPI_COMM_WORLD);
    }
    if (late % 2 == 1) {
        MPI_Waitall(OPERATIONS, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = OPERATIONS - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    size_t blocks = (size_t)OPERATIONS * (size_t)co_test_size();
    int *mine = malloc(OPERATIONS * EACH * sizeof *mine);
    MPI_Request *requests = malloc(OPERATIONS * sizeof(MPI_Request));
    for (int late = 0; late < co_test_size(); late++) {
        int *all = calloc(blocks, EACH * sizeof *all);
        run(late, mine, all, requests);
        check(all, late);
        co_test_absorb(all, blocks * EACH * sizeof *all);
        free(all);
    }
    free(mine);
    free(requests);
    return co_test_finish();
}
