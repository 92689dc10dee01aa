// SPDX-License-Identifier: BSD-3-Clause
// MPI_Probe and MPI_Iprobe: what their statuses say for each size, that a probe takes nothing away, that a message
// which a posted receive takes is not found, wildcards, MPI_PROC_NULL, wrong arguments, and that a rank which
// only probes moves native MPI as well as castoff: its neighbours are inside a native operation that needs it.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// modes: native off on faults
// taken: MPI_Probe MPI_Iprobe
// expect: same words in every mode
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define SENTINEL 123456
#define LARGE (3 << 20)

static const int sizes[] = {0, 1, 63, 64, 65, 4096, 4097, 70000, LARGE};
#define SIZES ((int)(sizeof sizes / sizeof sizes[0]))

static unsigned char outgoing[LARGE], incoming[LARGE];
static int previous, next;

static void check_status(const MPI_Status *status, int source, int tag, int bytes, const char *call)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    co_test_expect(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes && cancelled == 0,
                   "%s: source %d, tag %d, %d bytes, cancelled %d; not %d, %d, %d", call, status->MPI_SOURCE,
                   status->MPI_TAG, count, cancelled, source, tag, bytes);
    co_test_expect(status->MPI_ERROR == SENTINEL, "%s: MPI_ERROR is written", call);
}

static void probe(int blocking, int source, int tag, MPI_Status *status)
{
    int flag = 0;
    memset(status, 0, sizeof *status);
    status->MPI_ERROR = SENTINEL;
    if (blocking) {
        MPI_Probe(source, tag, MPI_COMM_WORLD, status);
        return;
    }
    while (!flag) {
        MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, status);
    }
}

// Each wildcard class, twice each: what is probed stays.
static void probe_all_ways(int tag, int bytes)
{
    MPI_Status status;
    for (int way = 0; way < 16; way++) {
        int source = way & 1 ? MPI_ANY_SOURCE : previous;
        probe(way & 4, source, way & 2 ? MPI_ANY_TAG : tag, &status);
        check_status(&status, previous, tag, bytes, way & 4 ? "Probe" : "Iprobe");
    }
}

static void probe_sizes(void)
{
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < SIZES; i++) {
        int bytes = sizes[i], me = co_test_rank();
        co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(me, i, (size_t)bytes));
        MPI_Isend(outgoing, bytes, MPI_BYTE, next, 10 + i, MPI_COMM_WORLD, &request);
        probe_all_ways(10 + i, bytes);
        MPI_Recv(incoming, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        co_test_received(incoming, (size_t)bytes, co_test_seed(previous, i, (size_t)bytes), "%d bytes", bytes);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// The earlier of two messages is the one that is found; the one that a receive waits for never is.
static void keep_order(void)
{
    MPI_Status status;
    MPI_Request requests[2];
    int flag = -1;
    MPI_Irecv(incoming, 100, MPI_BYTE, previous, 30, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(outgoing, 50, MPI_BYTE, next, 30, MPI_COMM_WORLD); // to the receive
    MPI_Send(outgoing, 40, MPI_BYTE, next, 30, MPI_COMM_WORLD);
    MPI_Send(outgoing, 20, MPI_BYTE, next, 30, MPI_COMM_WORLD);
    probe(1, previous, 30, &status);
    check_status(&status, previous, 30, 40, "the first of those without a receive");
    MPI_Wait(&requests[0], &status);
    MPI_Recv(incoming, 100, MPI_BYTE, previous, 30, MPI_COMM_WORLD, &status);
    probe(0, MPI_ANY_SOURCE, 30, &status);
    check_status(&status, previous, 30, 20, "the next");
    MPI_Recv(incoming, 100, MPI_BYTE, previous, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    memset(&status, 0x5a, sizeof status);
    MPI_Status untouched = status;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    co_test_expect(flag == 0 && memcmp(&status, &untouched, sizeof status) == 0, "nothing is left: flag %d", flag);
}

// While the neighbours are in a native operation of several steps, this rank does nothing but probe.
static void move_native(int blocking)
{
    MPI_Request barrier;
    MPI_Status status;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    if (co_test_rank() != 0) {
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, 1, MPI_BYTE, 0, 40, MPI_COMM_WORLD);
        return;
    }
    for (int r = 1; r < co_test_size(); r++) {
        probe(blocking, r, 40, &status);
        MPI_Recv(incoming, 1, MPI_BYTE, r, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void misuse(void)
{
    MPI_Status status;
    int flag = -1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    co_test_say("Probe of a wrong rank: %d\n", class_of(MPI_Probe(99, 1, MPI_COMM_WORLD, &status)));
    co_test_say("Probe of a wrong tag: %d\n", class_of(MPI_Probe(0, -7, MPI_COMM_WORLD, &status)));
    co_test_say("Iprobe of a wrong rank: %d\n", class_of(MPI_Iprobe(-9, 1, MPI_COMM_WORLD, &flag, &status)));
    co_test_say("Iprobe of a wrong tag: %d\n", class_of(MPI_Iprobe(0, -7, MPI_COMM_WORLD, &flag, &status)));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    probe(1, MPI_PROC_NULL, 3, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "Probe of nobody");
    probe(0, MPI_PROC_NULL, 3, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "Iprobe of nobody");
}

static void probe_self(void)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Issend(outgoing, 33, MPI_BYTE, co_test_rank(), 50, MPI_COMM_WORLD, &request);
    probe(1, co_test_rank(), 50, &status);
    check_status(&status, co_test_rank(), 50, 33, "Probe of oneself");
    MPI_Recv(incoming, 33, MPI_BYTE, co_test_rank(), 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    next = (co_test_rank() + 1) % co_test_size();
    previous = (co_test_rank() + co_test_size() - 1) % co_test_size();
    probe_sizes();
    keep_order();
    for (int i = 0; i < 20; i++) {
        move_native(i & 1);
    }
    misuse();
    probe_self();
    return co_test_finish();
}
