// SPDX-License-Identifier: BSD-3-Clause
// Who tests in vain gives up the processor as often as native does, where native was told to (mpirun tells it so on
// nodes with more ranks than slots): else the one that is to send has to wait for the end of our turn, ten thousand
// times as long as a message takes. Counted by a function of ours in place of the C library's.
// ranks: 2
// mpirun: --mca mpi_yield_when_idle 1
// environment: CASTOFF_P2P=yes
// expect: of 1000 tests in vain at least 500 yield, by each call
// report: calls["MPI_Irecv"]["taken"] > 0
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TESTS 1000

static _Thread_local int yields;

int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

enum call { TEST, TESTANY, TESTSOME, TESTALL, IPROBE, CALLS };

static const char *const names[CALLS] = {"Test", "Testany", "Testsome", "Testall", "Iprobe"};

static int test(enum call call, MPI_Request requests[2])
{
    int flag = 0, index, indices[2];
    switch (call) {
    case TEST:
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        break;
    case TESTANY:
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case TESTSOME:
        MPI_Testsome(2, requests, &flag, indices, MPI_STATUSES_IGNORE);
        break;
    case TESTALL:
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    default:
        MPI_Iprobe(1 - co_test_rank(), 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    return flag;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int other = 1 - co_test_rank();
    for (int call = 0; call < CALLS; call++) {
        MPI_Request requests[2];
        int received[2], sent = call;
        for (int i = 0; i < 2; i++) {
            MPI_Irecv(&received[i], 1, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]);
        }
        yields = 0;
        for (int i = 0; i < TESTS; i++) {
            co_test_expect(test((enum call)call, requests) == 0, "%s: done before it was sent", names[call]);
        }
        co_test_expect(yields >= TESTS / 2, "%s: %d yields", names[call], yields);
        MPI_Barrier(MPI_COMM_WORLD); // both have tested
        for (int i = 0; i < 2; i++) {
            MPI_Send(&sent, 1, MPI_INT, other, i, MPI_COMM_WORLD);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        co_test_expect(received[0] == call && received[1] == call, "%d and %d", received[0], received[1]);
    }
    return co_test_finish();
}
