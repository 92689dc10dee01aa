// SPDX-License-Identifier: BSD-3-Clause
// What the report says of messages: calls taken and declined by reason, matches by the receive's wildcards, what came
// before its receive, the longest queues, and credit that ran out. Communicators that are freed before the end count.
// ranks: 2
// environment: CASTOFF_P2P=yes CASTOFF_P2P_CREDIT=64K
// modes: native off on faults
// expect: same words in every mode
// report: calls["MPI_Send"]["taken"] == 2 * (4 * 5 + 1)
// report: calls["MPI_Send"]["bytes_taken"] == 2 * (4 * 5 * 8 + 8)
// report: sorted(calls["MPI_Send"]["declined"]) == "bad_argument no_partner one_rank switched_off_by_info".split()
// report: list(calls["MPI_Send"]["declined"].values()) == [2, 2, 2, 2]
// report: calls["MPI_Send"]["seen"] == 2 * (4 * 5 + 1) + 8
// report: calls["MPI_Irecv"]["taken"] == 2 * (4 * 5 + 6)
// report: calls["MPI_Recv"]["taken"] == 2 + 500
// report: calls["MPI_Isend"] == dict(seen=500, taken=500, declined={}, bytes_taken=500000)
// report: calls["MPI_Mprobe"]["taken"] == 0
// report: counters["messages_sent"] == 2 * (4 * 5 + 1 + 7) + 500
// report: counters["message_bytes_sent"] == 2 * (4 * 5 + 1 + 7) * 8 + 500000
// report: counters["messages_matched_exact"] == 2 * (5 + 7) + 500
// report: counters["messages_matched_any_source"] == 2 * 5
// report: counters["messages_matched_any_tag"] == 2 * 5
// report: counters["messages_matched_any_both"] == 2 * 5 + 2
// report: counters["receives_posted_high_water"] == 20
// report: counters["messages_unexpected"] >= 2 + 499
// report: 499 <= counters["messages_unexpected_high_water"] <= 502
// report: messages_unexpected_share == round(counters["messages_unexpected"] / counters["messages_sent"], 15)
// report: calls["MPI_Bsend"] == dict(seen=6, taken=4, declined=dict(switched_off_by_info=2), bytes_taken=32)
// report: calls["MPI_Ibsend"] == dict(seen=2, taken=2, declined={}, bytes_taken=16)
// report: calls["MPI_Send_init"] == dict(seen=4, taken=2, declined=dict(no_partner=2), bytes_taken=0)
// report: calls["MPI_Rsend_init"]["taken"] == calls["MPI_Ssend_init"]["taken"] == calls["MPI_Bsend_init"]["taken"] == 2
// report: calls["MPI_Recv_init"]["taken"] == 2
// report: calls["MPI_Recv_init"]["declined"] == dict(one_rank=2, switched_off_by_info=2)
// report: calls["MPI_Start"]["taken"] == 4 and calls["MPI_Start"]["bytes_taken"] == 32
// report: calls["MPI_Start"]["declined"] == dict(native_handle=2)
// report: calls["MPI_Startall"]["taken"] == 2 and calls["MPI_Startall"]["bytes_taken"] == 48
// report: calls["MPI_Startall"]["declined"] == dict(native_handle=2)
// report: counters["message_credit_stalls"] >= 1 or settings.get("CASTOFF_P2P_EAGER") == "0"
#include "oracle/verdict.h"

#include <stdlib.h>

#define EACH 5
#define FLOOD 500
#define FLOOD_BYTES 1000

static int other;

// In a communicator of its own: five receives of each class wait when the messages come.
static void expected_ones(void)
{
    MPI_Comm comm;
    MPI_Request requests[4 * EACH];
    uint64_t values[4 * EACH] = {0}, value = 7;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 4 * EACH; i++) {
        int class = i / EACH;
        MPI_Irecv(&values[i], 8, MPI_BYTE, class & 1 ? MPI_ANY_SOURCE : other, class & 2 ? MPI_ANY_TAG : class, comm,
                  &requests[i]);
    }
    MPI_Barrier(comm);
    for (int i = 0; i < 4 * EACH; i++) {
        MPI_Send(&value, 8, MPI_BYTE, other, i / EACH, comm);
    }
    MPI_Waitall(4 * EACH, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4 * EACH; i++) {
        co_test_expect(values[i] == 7, "receive %d", i);
    }
    MPI_Comm_free(&comm);
}

static void declined(void)
{
    MPI_Comm native;
    MPI_Info info;
    MPI_Request request;
    int value = 1, back = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    co_test_expect(MPI_Send(&value, 1, MPI_INT, 99, 1, MPI_COMM_WORLD) != MPI_SUCCESS, "rank 99");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &native);
    MPI_Info_free(&info);
    MPI_Recv_init(&back, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
    MPI_Start(&request);
    MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Recv_init(&back, 1, MPI_INT, other, 2, native, &request);
    MPI_Startall(1, &request);
    MPI_Send(&value, 1, MPI_INT, other, 2, native);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Bsend(&value, 1, MPI_INT, other, 2, native);
    MPI_Recv(&back, 1, MPI_INT, other, 2, native, MPI_STATUS_IGNORE);
    MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Comm_free(&native);
}

// Buffered and persistent ones: seven messages, each to a receive that waits.
static void started_ones(void)
{
    static unsigned char room[4000];
    enum { RECEIVES = 7 };
    MPI_Request receives[RECEIVES], buffered, sends[4];
    uint64_t values[RECEIVES] = {0}, value = 9;
    int size;
    void *attached;
    MPI_Recv_init(&values[0], 8, MPI_BYTE, other, 50, MPI_COMM_WORLD, &receives[0]);
    MPI_Start(&receives[0]);
    for (int i = 1; i < RECEIVES; i++) {
        MPI_Irecv(&values[i], 8, MPI_BYTE, other, 50 + i, MPI_COMM_WORLD, &receives[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(&value, 8, MPI_BYTE, other, 50, MPI_COMM_WORLD);
    MPI_Bsend(&value, 8, MPI_BYTE, other, 51, MPI_COMM_WORLD);
    MPI_Ibsend(&value, 8, MPI_BYTE, other, 52, MPI_COMM_WORLD, &buffered);
    MPI_Send_init(&value, 8, MPI_BYTE, other, 53, MPI_COMM_WORLD, &sends[0]);
    MPI_Rsend_init(&value, 8, MPI_BYTE, other, 54, MPI_COMM_WORLD, &sends[1]);
    MPI_Ssend_init(&value, 8, MPI_BYTE, other, 55, MPI_COMM_WORLD, &sends[2]);
    MPI_Bsend_init(&value, 8, MPI_BYTE, other, 56, MPI_COMM_WORLD, &sends[3]);
    MPI_Start(&sends[0]);
    MPI_Startall(3, &sends[1]);
    MPI_Wait(&buffered, MPI_STATUS_IGNORE);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(RECEIVES, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&sends[i]);
    }
    MPI_Request_free(&receives[0]);
    MPI_Buffer_detach(&attached, &size);
    for (int i = 0; i < RECEIVES; i++) {
        co_test_expect(values[i] == 9, "receive %d of those for started sends", i);
    }
}

static void early_ones(void)
{
    static unsigned char buffer[FLOOD][FLOOD_BYTES];
    MPI_Request requests[FLOOD];
    uint64_t value = 3;
    MPI_Send(&value, 8, MPI_BYTE, other, 30, MPI_COMM_WORLD);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // it has come, without a receive
    MPI_Recv(&value, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < FLOOD; i++) {
        uint64_t seed = co_test_seed(0, i, FLOOD_BYTES);
        if (co_test_rank() == 0) {
            co_test_pattern_fill(buffer[i], FLOOD_BYTES, seed);
            MPI_Isend(buffer[i], FLOOD_BYTES, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int n = 0; n < FLOOD && co_test_rank() == 1; n++) { // the last one first: by then all have come
        int i = (n + FLOOD - 1) % FLOOD;
        MPI_Recv(buffer[i], FLOOD_BYTES, MPI_BYTE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_test_received(buffer[i], FLOOD_BYTES, co_test_seed(0, i, FLOOD_BYTES), "message %d", i);
    }
    if (co_test_rank() == 0) {
        MPI_Waitall(FLOOD, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    other = 1 - co_test_rank();
    expected_ones();
    declined();
    started_ones();
    early_ones();
    return co_test_finish();
}
