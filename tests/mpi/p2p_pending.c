// SPDX-License-Identifier: BSD-3-Clause
// Operations that are under way while their rank does something else: sits in a native barrier, a fence, a Comm_dup
// or a collective of another communicator while the other side needs it; a communicator that is freed with operations
// pending, and its handle used again; a synchronous send that must not end before its receive begins.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: nothing hangs, everything arrives
// report: calls["MPI_Isend"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 3000000

static unsigned char *sent, *received;

enum sitting { BARRIER, FENCE, DUP, REDUCE, SPLIT, FREE, SITTINGS };

static MPI_Win window;
static int shared;

static void sit(enum sitting sitting)
{
    MPI_Comm other;
    int one = 1, sum;
    switch (sitting) {
    case BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case FENCE:
        MPI_Win_fence(0, window);
        break;
    case DUP:
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_free(&other);
        break;
    case REDUCE:
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case SPLIT:
        MPI_Comm_split(MPI_COMM_WORLD, co_test_rank() % 2, 0, &other);
        MPI_Comm_free(&other);
        break;
    default:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -co_test_rank(), &other);
        MPI_Comm_disconnect(&other);
    }
}

// Everybody sends to the next, which receives before it comes along.
static void send_and_sit(enum sitting sitting, int bytes, bool synchronous, int tag)
{
    int to = (co_test_rank() + 1) % co_test_size(), from = (co_test_rank() + co_test_size() - 1) % co_test_size();
    MPI_Request request;
    co_test_pattern_fill(sent, (size_t)bytes, co_test_seed(co_test_rank(), tag, (size_t)bytes));
    memset(received, 0, (size_t)bytes);
    if (synchronous) {
        MPI_Issend(sent, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    } else {
        MPI_Isend(sent, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    }
    if (co_test_rank() == 0) {
        sit(sitting);
        MPI_Recv(received, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(received, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sit(sitting);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_test_received(received, (size_t)bytes, co_test_seed(from, tag, (size_t)bytes), "%d bytes, sitting %d", bytes,
                     (int)sitting);
}

static void free_while_pending(int round)
{
    static const int sizes[] = {8, 5000, 200000};
    enum { COUNT = 6 };
    MPI_Request requests[2 * COUNT];
    MPI_Comm comm;
    int to = (co_test_rank() + 1) % co_test_size(), from = (co_test_rank() + co_test_size() - 1) % co_test_size();
    int bytes = sizes[round % 3];
    bool receive_first = round % 2 == 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < COUNT; i++) {
        co_test_pattern_fill(sent + (size_t)i * 200000, (size_t)bytes, co_test_seed(co_test_rank(), round, (size_t)i));
        MPI_Request *receive = &requests[i], *send = &requests[COUNT + i];
        if (receive_first) {
            MPI_Irecv(received + (size_t)i * 200000, bytes, MPI_BYTE, from, i, comm, receive);
        }
        MPI_Isend(sent + (size_t)i * 200000, bytes, MPI_BYTE, to, i, comm, send);
        if (!receive_first) {
            MPI_Irecv(received + (size_t)i * 200000, bytes, MPI_BYTE, from, i, comm, receive);
        }
    }
    MPI_Comm_free(&comm);
    MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COUNT; i++) {
        co_test_received(received + (size_t)i * 200000, (size_t)bytes, co_test_seed(from, round, (size_t)i),
                         "round %d, operation %d on a freed communicator", round, i);
    }
}

// The barrier in between is native's: an Issend that ended by then has ended without a receive.
static void synchronous_waits(int bytes)
{
    int to = (co_test_rank() + 1) % co_test_size(), from = (co_test_rank() + co_test_size() - 1) % co_test_size();
    MPI_Request request;
    int flag = 1;
    MPI_Issend(sent, bytes, MPI_BYTE, to, 77, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 200; i++) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (!co_test_expect(!flag, "a synchronous send of %d bytes ended before its receive", bytes)) {
            break;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(received, bytes, MPI_BYTE, from, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 100, 4096, 5000, 100000, LARGEST};
    MPI_Init(&argc, &argv);
    co_test_begin();
    sent = malloc(LARGEST);
    received = malloc(LARGEST);
    MPI_Win_create(&shared, sizeof shared, sizeof shared, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    int tag = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (enum sitting sitting = BARRIER; sitting < SITTINGS; sitting++) {
            send_and_sit(sitting, sizes[i], false, tag++);
            send_and_sit(sitting, sizes[i], true, tag++);
        }
        synchronous_waits(sizes[i]);
    }
    for (int round = 0; round < 60; round++) {
        free_while_pending(round);
    }
    MPI_Win_free(&window);
    free(sent);
    free(received);
    return co_test_finish();
}
