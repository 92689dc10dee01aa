// SPDX-License-Identifier: BSD-3-Clause
// Who tests in vain gives up the processor as often as native does, where native was told to (mpirun tells it so on
// nodes with more ranks than slots): else the one that is to send has to wait for the end of our turn, ten thousand
// times as long as a message takes. But not by the first test in vain after a message has come: where one comes, more
// do, and a switch to another process takes ten times as long as one more look. Counted by a function of ours.
// ranks: 2
// mpirun: --mca mpi_yield_when_idle 1
// environment: CASTOFF_P2P=yes CASTOFF_PROGRESS=caller
// expect: of 1000 tests in vain at least 500 yield, by each call; of those right behind a message that came none does
// report: calls["MPI_Irecv"]["taken"] > 0
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TESTS 1000
#define QUESTIONS 50

static _Thread_local int yields;

int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

enum tag { ASKED = 100, ANSWER };
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

static void who_tests_in_vain_yields(int other)
{
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
}

// Native yields here, too; also where it carries our messages, between hosts.
static int is_castoffs(void)
{
    const char *preload = getenv("LD_PRELOAD"), *enable = getenv("CASTOFF_ENABLE");
    return preload != NULL && strstr(preload, "libcastoff") != NULL && (enable == NULL || strcmp(enable, "0") != 0) &&
           getenv("CASTOFF_NODE_RANKS") == NULL;
}

static void answer(int value)
{
    MPI_Recv(&value, 1, MPI_INT, 0, ASKED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD);
}

static void ask(enum call call, MPI_Request late[2])
{
    MPI_Request request;
    int received, is_there = 0;
    MPI_Irecv(&received, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD, &request);
    MPI_Send(&received, 1, MPI_INT, 1, ASKED, MPI_COMM_WORLD);
    while (!is_there) {
        MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
    }
    yields = 0;
    co_test_expect(test(call, late) == 0, "%s: done before it was sent", names[call]);
    co_test_expect(yields == 0 || !is_castoffs(), "%s: %d yields right behind a message", names[call], yields);
}

static void who_has_just_got_something_does_not(int rank)
{
    MPI_Request late[2];
    int received[2];
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&received[i], 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &late[i]);
    }
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < QUESTIONS; i++) {
            rank == 0 ? ask((enum call)call, late) : answer(i);
        }
    }
    for (int i = 0; i < 2; i++) {
        MPI_Send(&rank, 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD);
    }
    MPI_Waitall(2, late, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    who_tests_in_vain_yields(1 - co_test_rank());
    who_has_just_got_something_does_not(co_test_rank());
    return co_test_finish();
}
