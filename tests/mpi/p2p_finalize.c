// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize with messages under way. What nobody receives holds nobody up, whatever stage it is in: freed,
// forgotten, probed, persistent and not started, on a communicator that is freed. What the others receive while its
// sender is in MPI_Finalize arrives. The stall watchdog would tell of a wait: it is set to a second.
// ranks: 2 3
// environment: CASTOFF_P2P=yes CASTOFF_STALL_S=1
// expect: no wait, no complaint, right bytes
// report: calls["MPI_Issend"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 3000000
#define FLOOD 300
#define FOR_NOBODY 1 // tags
#define FOR_THE_NEXT 100

static const int sizes[] = {0, 8, 3000, 4500, 30000, 200000, LARGEST};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static unsigned char *sent, *received, *unused;

static void send_for_nobody(MPI_Comm comm, int to)
{
    MPI_Request request;
    for (int i = 0; i < SIZES; i++) {
        MPI_Issend(sent, sizes[i], MPI_BYTE, to, FOR_NOBODY, comm, &request);
        MPI_Request_free(&request);
        MPI_Isend(sent, sizes[i], MPI_BYTE, to, FOR_NOBODY, comm, &request);
        if (i % 2 == 0) {
            MPI_Request_free(&request);
        }
    }
    for (int i = 0; i < FLOOD; i++) {
        MPI_Isend(sent, i % 2 == 0 ? 4000 : 9000, MPI_BYTE, to, FOR_NOBODY, comm, &request);
        MPI_Request_free(&request);
    }
}

static void receive_from_nobody(MPI_Comm comm, int from)
{
    MPI_Datatype gap;
    MPI_Request request;
    MPI_Type_vector(100, 1, 2, MPI_INT, &gap);
    MPI_Type_commit(&gap);
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(unused, 1000, i < 2 ? MPI_INT : gap, i % 2 == 0 ? from : MPI_ANY_SOURCE, FOR_NOBODY + 1, comm,
                  &request);
        if (i % 2 == 0) {
            MPI_Request_free(&request);
        }
    }
    MPI_Type_free(&gap);
}

static void make_persistent(MPI_Comm comm, int to, int from)
{
    MPI_Request requests[4];
    MPI_Send_init(sent, 100, MPI_BYTE, to, FOR_NOBODY, comm, &requests[0]);
    MPI_Recv_init(unused, 100, MPI_BYTE, from, FOR_NOBODY + 1, comm, &requests[1]);
    MPI_Ssend_init(sent, 100, MPI_BYTE, to, FOR_NOBODY, comm, &requests[2]);
    MPI_Recv_init(unused, 100, MPI_BYTE, from, FOR_NOBODY + 1, comm, &requests[3]);
    MPI_Startall(2, &requests[2]);
}

static void probe_and_leave(int to, int from)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int count;
    for (int i = 0; i < SIZES; i++) {
        MPI_Isend(sent, sizes[i], MPI_BYTE, to, FOR_NOBODY + 2, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < SIZES; i++) {
        MPI_Mprobe(from, FOR_NOBODY + 2, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        co_test_expect(count == sizes[i], "probed %d bytes, not %d", count, sizes[i]);
    }
}

// The first rank has nothing more to do: it sends from MPI_Finalize. 0, or how many are wrong.
static int receive_the_last(void)
{
    int wrong = 0;
    for (int i = SIZES; i-- > 0;) {
        memset(received, 0, LARGEST);
        MPI_Recv(received, LARGEST, MPI_BYTE, 0, FOR_THE_NEXT + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += co_test_pattern_mismatch(received, (size_t)sizes[i], 77) != (size_t)sizes[i];
    }
    return wrong;
}

static void send_the_last(void)
{
    MPI_Request request;
    for (int to = 1; to < co_test_size(); to++) {
        for (int i = 0; i < SIZES; i++) {
            (i % 2 == 0 ? MPI_Isend : MPI_Issend)(sent, sizes[i], MPI_BYTE, to, FOR_THE_NEXT + i, MPI_COMM_WORLD,
                                                  &request);
            MPI_Request_free(&request);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm freed;
    MPI_Init(&argc, &argv);
    co_test_begin();
    sent = malloc(LARGEST);
    received = malloc(LARGEST);
    unused = malloc(LARGEST);
    co_test_pattern_fill(sent, LARGEST, 77);
    int to = (co_test_rank() + 1) % co_test_size(), from = (co_test_rank() + co_test_size() - 1) % co_test_size();
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    probe_and_leave(to, from);
    int status = co_test_print();
    if (co_test_rank() == 0) {
        send_the_last();
    } else {
        status += receive_the_last();
    }
    send_for_nobody(MPI_COMM_WORLD, to);
    send_for_nobody(freed, to);
    send_for_nobody(MPI_COMM_WORLD, co_test_rank());
    receive_from_nobody(MPI_COMM_WORLD, from);
    receive_from_nobody(freed, from);
    make_persistent(MPI_COMM_WORLD, to, from);
    MPI_Comm_free(&freed);
    MPI_Finalize();
    return status;
}
