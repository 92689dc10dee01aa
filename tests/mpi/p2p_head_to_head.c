// SPDX-License-Identifier: BSD-3-Clause
// Both ranks of every pair send first and receive afterwards, as sloppy programs do: blocking sends of eager size
// complete by the thousand on stock.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: 6,000 blocking sends of 4,000 bytes and 100,000 of 8 complete before the first receive
// report: calls["MPI_Send"]["taken"] > 0
// report: counters["messages_buffered_high_water_bytes"] > 6 << 20
#include "oracle/verdict.h"

#include <stdlib.h>

static void send_first(int count, int bytes)
{
    static int data[1000];
    int to = (co_test_rank() + 1) % co_test_size(), wrong = 0;
    for (int i = 0; i < count; i++) {
        data[0] = i;
        MPI_Send(data, bytes, MPI_BYTE, to, i % 7, MPI_COMM_WORLD);
    }
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        MPI_Recv(data, (int)sizeof data, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        wrong += data[0] != i || status.MPI_TAG != i % 7;
    }
    co_test_expect(wrong == 0, "%d of %d messages of %d bytes out of order", wrong, count, bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int factor = argc > 1 ? atoi(argv[1]) : 1;
    send_first(6000 * factor, 4000); // 24 MB: more than CASTOFF_P2P_CREDIT
    send_first(100000 * factor, 8);
    send_first(1, 0);
    return co_test_finish();
}
