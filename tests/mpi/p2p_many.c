// SPDX-License-Identifier: BSD-3-Clause
// Many of everything: 1,000 communicators with a message each; 100,000 outstanding receives that are matched from the
// front, fewer from the end and by wildcards, because stock searches them; messages that come before their receives
// and are wanted in another order; a hundred thousand blocking sends to a rank that sleeps. An argument is the depth of
// all of them.
// ranks: 2
// environment: CASTOFF_P2P=yes CASTOFF_P2P_CREDIT=1M
// modes: native on
// expect: every message finds its receive
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <unistd.h>

#define COMMUNICATORS 1000
#define MANY 100000
#define DEEP 6000 // where stock searches

static void use_communicators(void)
{
    static MPI_Comm comms[COMMUNICATORS];
    static MPI_Request requests[COMMUNICATORS];
    static int values[COMMUNICATORS];
    int other = 1 - co_test_rank(), wrong = 0;
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, comms[i], &requests[i]);
    }
    for (int i = COMMUNICATORS - 1; i >= 0; i--) {
        int value = 3 * i + co_test_rank();
        MPI_Send(&value, 1, MPI_INT, other, 0, comms[i]);
    }
    MPI_Waitall(COMMUNICATORS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COMMUNICATORS; i++) {
        wrong += values[i] != 3 * i + other;
        MPI_Comm_free(&comms[i]);
    }
    co_test_expect(wrong == 0, "%d messages on a wrong communicator", wrong);
}

static MPI_Request requests[MANY];
static int values[MANY], sources[MANY];

static int place_of(int i, int kind, int count)
{
    return kind == 0 ? i : kind == 1 ? count - 1 - i : (int)((long)i * 77773 % count);
}

static void post_many(int kind, int count)
{
    int other = 1 - co_test_rank(), wrong = 0;
    if (co_test_rank() == 1) {
        for (int i = 0; i < count; i++) {
            values[i] = -1;
            MPI_Irecv(&values[i], 1, MPI_INT, kind == 2 ? MPI_ANY_SOURCE : other, i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; i++) {
            wrong += values[i] != i + kind;
        }
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            int tag = place_of(i, kind, count), value = tag + kind;
            MPI_Send(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
        }
    }
    co_test_expect(wrong == 0, "kind %d: %d wrong of %d outstanding receives", kind, wrong, count);
}

static void come_early(int kind, int count)
{
    int other = 1 - co_test_rank(), wrong = 0;
    if (co_test_rank() == 0) {
        for (int i = 0; i < count; i++) {
            sources[i] = 5 * i;
            MPI_Isend(&sources[i], 1, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            int value = -1, tag = place_of(i, kind, count);
            MPI_Recv(&value, 1, MPI_INT, kind == 2 ? MPI_ANY_SOURCE : other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += value != 5 * tag;
        }
    }
    co_test_expect(wrong == 0, "kind %d: %d wrong of %d early messages", kind, wrong, count);
}

// The receiver sleeps outside MPI; blocking sends must stop or go on, and all arrive in order.
static void flood(void)
{
    static unsigned char payload[1000];
    int other = 1 - co_test_rank(), wrong = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (co_test_rank() == 0) {
        for (int i = 0; i < MANY; i++) {
            *(int *)(void *)payload = i;
            MPI_Send(payload, sizeof payload, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        }
    } else {
        usleep(300000);
        for (int i = 0; i < MANY; i++) {
            MPI_Recv(payload, sizeof payload, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += *(int *)(void *)payload != i;
        }
    }
    co_test_expect(wrong == 0, "%d messages of a flood out of order", wrong);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    use_communicators();
    int deep = argc > 1 ? atoi(argv[1]) : 0;
    for (int kind = 0; kind < 3; kind++) {
        post_many(kind, deep > 0 ? deep : kind == 0 ? MANY : DEEP);
        MPI_Barrier(MPI_COMM_WORLD);
        come_early(kind, deep > 0 ? deep : DEEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    flood();
    return co_test_finish();
}
