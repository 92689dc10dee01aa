// SPDX-License-Identifier: BSD-3-Clause
// A communicator with ranks on both sides: two ranks are one node, the others are elsewhere. Receives from anybody
// match across both, each sender's messages stay in order whatever their sizes, more large messages at a time than
// there are places for, taken in another order than sent, a flood into a small window, and parts of the communicator.
// ranks: 3 4
// environment: CASTOFF_P2P=yes CASTOFF_NODE_RANKS=2 CASTOFF_UDP_INTERFACE=lo CASTOFF_P2P_CARRIER_MEMORY=600K
// modes: native on
// taken: MPI_Send MPI_Recv MPI_Isend MPI_Irecv MPI_Ssend
// expect: every message arrives whole and in order; two thirds of them go between nodes
// report: 3 * counters["messages_remote"] == 2 * counters["messages_sent"]
// report: 3 * counters["message_bytes_remote"] == 2 * counters["message_bytes_sent"]
// report: 500000 < counters["message_remote_channel_bytes"] < 700000
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { EACH = 60, AT_ONCE = 100, LARGE = 70000, FLOOD = 2000, MOST = 300000 };

static const int sizes[] = {8, 70000, 0, 3000, 20000, 17, 16384, 16385, MOST, 4096};

static int size_of(int number)
{
    return sizes[number % (int)(sizeof sizes / sizeof sizes[0])];
}

static uint64_t seed_of(int from, int to, int number)
{
    return (uint64_t)from * 1000003 + (uint64_t)to * 10007 + (uint64_t)number;
}

// Everybody sends to everybody, and receives from anybody.
static void from_anybody(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Request *requests = malloc((size_t)(EACH * size) * sizeof *requests);
    unsigned char *out = malloc((size_t)(EACH * size) * MOST), *in = malloc((size_t)(EACH * size) * MOST);
    int *next = calloc((size_t)size, sizeof *next), *place = calloc((size_t)(EACH * size), sizeof *place), count = 0;
    for (int i = 0; i < EACH; i++) {
        for (int to = 0; to < size; to++) {
            unsigned char *data = out + (size_t)count * MOST;
            if (to != rank) {
                co_test_pattern_fill(data, (size_t)size_of(i), seed_of(rank, to, i));
                MPI_Isend(data, size_of(i), MPI_BYTE, to, i, comm, &requests[count++]);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        int bytes;
        MPI_Recv(in + (size_t)i * MOST, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        int from = status.MPI_SOURCE, number = next[from]++;
        co_test_expect(status.MPI_TAG == number && bytes == size_of(number), "message %d of rank %d: tag %d, %d bytes",
                       number, from, status.MPI_TAG, bytes);
        place[from * EACH + number] = i;
    }
    for (int i = 0; i < EACH * size; i++) { // in an order that does not depend on theirs
        int from = i / EACH, number = i % EACH;
        if (from != rank) {
            co_test_received(in + (size_t)place[i] * MOST, (size_t)size_of(number), seed_of(from, rank, number),
                             "message %d of rank %d", number, from);
        }
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(out);
    free(in);
    free(next);
    free(place);
}

// From the left, taken from the last to the first.
static void many_large_ones(int left, int right)
{
    MPI_Request sends[AT_ONCE], receives[AT_ONCE];
    unsigned char *out = malloc((size_t)AT_ONCE * LARGE), *in = malloc((size_t)AT_ONCE * LARGE);
    for (int i = 0; i < AT_ONCE; i++) {
        co_test_pattern_fill(out + (size_t)i * LARGE, LARGE, seed_of(co_test_rank(), right, i));
        MPI_Isend(out + (size_t)i * LARGE, LARGE, MPI_BYTE, right, i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = AT_ONCE - 1; i >= 0; i--) {
        MPI_Irecv(in + (size_t)i * LARGE, LARGE, MPI_BYTE, left, i, MPI_COMM_WORLD, &receives[i]);
    }
    MPI_Waitall(AT_ONCE, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(AT_ONCE, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AT_ONCE; i++) {
        co_test_received(in + (size_t)i * LARGE, LARGE, seed_of(left, co_test_rank(), i), "large message %d", i);
    }
    free(out);
    free(in);
}

// Everybody floods everybody with what is sent at once, before anybody receives.
static void flood(void)
{
    unsigned char data[1000];
    for (int i = 0; i < FLOOD; i++) {
        for (int to = 0; to < co_test_size(); to++) {
            co_test_pattern_fill(data, sizeof data, seed_of(co_test_rank(), to, i));
            if (to != co_test_rank()) {
                MPI_Send(data, sizeof data, MPI_BYTE, to, 5, MPI_COMM_WORLD);
            }
        }
    }
    for (int from = 0; from < co_test_size(); from++) {
        for (int i = 0; from != co_test_rank() && i < FLOOD; i++) {
            MPI_Recv(data, sizeof data, MPI_BYTE, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            co_test_received(data, sizeof data, seed_of(from, co_test_rank(), i), "message %d of the flood", i);
        }
    }
}

// Returns when it is received, however small it is.
static void synchronous(int left, int right)
{
    int value = co_test_rank(), got = -1;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &request);
    MPI_Ssend(&value, 1, MPI_INT, right, 9, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_test_expect(got == left, "rank %d instead of %d", got, left);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int rank = co_test_rank(), size = co_test_size();
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    from_anybody(MPI_COMM_WORLD);
    from_anybody(reversed);
    MPI_Comm_free(&reversed);
    flood();
    for (int step = 1; step < size; step++) { // as often to each of the others
        many_large_ones((rank + size - step) % size, (rank + step) % size);
        synchronous((rank + size - step) % size, (rank + step) % size);
    }
    return co_test_finish();
}
