// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_disconnect returns when all that is pending on the communicator has ended, also what nobody can look for any
// more, because its requests were freed: large messages are there as a whole, their senders' buffers are free. Stock
// does not wait, so this is for castoff alone. Messages that nobody receives, and receives that a matched probe has
// prepared, hold nothing up.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// modes: on
// expect: every byte there
// report: calls["MPI_Isend"]["taken"] > 0 and calls["MPI_Improbe"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGE (24 << 20)

static unsigned char *sent, *received;

static void disconnect_with(int bytes, bool has_strays, int round)
{
    int to = (co_test_rank() + 1) % co_test_size(), from = (co_test_rank() + co_test_size() - 1) % co_test_size();
    MPI_Comm comm;
    MPI_Request request;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (has_strays) {
        int flag = 0;
        MPI_Send(&round, 1, MPI_INT, to, 1, comm);
        MPI_Send(&round, 1, MPI_INT, to, 2, comm);
        while (!flag) {
            MPI_Improbe(from, 1, comm, &flag, &message, MPI_STATUS_IGNORE);
        }
    }
    co_test_pattern_fill(sent, (size_t)bytes, co_test_seed(co_test_rank(), round, (size_t)bytes));
    memset(received, 0, (size_t)bytes);
    MPI_Irecv(received, bytes, MPI_BYTE, from, 0, comm, &request);
    MPI_Request_free(&request);
    MPI_Isend(sent, bytes, MPI_BYTE, to, 0, comm, &request);
    MPI_Request_free(&request);
    MPI_Comm_disconnect(&comm);
    memset(sent, 0xaa, (size_t)bytes);
    co_test_received(received, (size_t)bytes, co_test_seed(from, round, (size_t)bytes), "round %d, %d bytes", round,
                     bytes);
    if (has_strays) {
        int value = -1;
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        co_test_expect(value == round, "round %d: the matched message says %d", round, value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 4000, 100000, LARGE};
    MPI_Init(&argc, &argv);
    co_test_begin();
    sent = malloc(LARGE);
    received = malloc(LARGE);
    for (int round = 0; round < 16; round++) {
        disconnect_with(sizes[round % 4], round % 8 >= 4, round);
    }
    free(sent);
    free(received);
    return co_test_finish();
}
