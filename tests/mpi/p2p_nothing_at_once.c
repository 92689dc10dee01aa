// SPDX-License-Identifier: BSD-3-Clause
// Sends of sizes that stock sends without a receive end here without one, too, where nothing is sent at once: blocking,
// nonblocking, persistent, to each other and to oneself; the buffers are used again straight afterwards.
// ranks: 2 3
// environment: CASTOFF_P2P=yes CASTOFF_P2P_EAGER=0
// expect: all sends end before the first receive begins
// report: calls["MPI_Send"]["taken"] > 0 or nodes > 1
// report: counters["messages_buffered_high_water_bytes"] > 0 or nodes > 1
#include "oracle/verdict.h"

#include <string.h>

enum kind { BLOCKING, READY_TO_WAIT, PERSISTENT, KINDS };

#define EACH 20
#define LARGEST (OMPI_MAJOR_VERSION < 5 ? 4040 : 4000) // 5.0 has longer headers
#define LARGEST_TO_SELF (OMPI_MAJOR_VERSION < 5 ? 968 : 930)

static unsigned char data[LARGEST];

static void send_one(enum kind kind, int bytes, int to, int tag)
{
    MPI_Request request;
    co_test_pattern_fill(data, (size_t)bytes, co_test_seed(co_test_rank(), tag, (size_t)bytes));
    switch (kind) {
    case BLOCKING:
        MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        break;
    case READY_TO_WAIT:
        MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Send_init(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    memset(data, 0xaa, sizeof data);
}

static void exchange(enum kind kind, int bytes, int to, int from)
{
    for (int tag = 0; tag < EACH; tag++) {
        send_one(kind, bytes, to, tag);
    }
    for (int tag = 0; tag < EACH; tag++) {
        MPI_Status status;
        int count;
        memset(data, 0x55, sizeof data);
        MPI_Recv(data, LARGEST, MPI_BYTE, from, tag % 2 ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        co_test_expect(status.MPI_TAG == tag && count == bytes, "tag %d, %d bytes, instead of tag %d, %d bytes",
                       status.MPI_TAG, count, tag, bytes);
        co_test_received(data, (size_t)bytes, co_test_seed(from, tag, (size_t)bytes), "kind %d, %d bytes, tag %d",
                         (int)kind, bytes, tag);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 8, 100, LARGEST_TO_SELF, 1024, LARGEST};
    MPI_Init(&argc, &argv);
    co_test_begin();
    int rank = co_test_rank(), size = co_test_size();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (enum kind kind = BLOCKING; kind < KINDS; kind++) {
            exchange(kind, sizes[i], (rank + 1) % size, (rank + size - 1) % size);
            if (sizes[i] <= LARGEST_TO_SELF) { // stock sends no more to itself
                exchange(kind, sizes[i], rank, rank);
            }
        }
    }
    return co_test_finish();
}
