// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests and matched messages while messages are left to the MPI below: the report says that it was the
// setting, not that the communicator is unknown.
// ranks: 2
// environment: CASTOFF_P2P=no
// modes: native on
// expect: every value arrives
// report: calls["MPI_Start"]["declined"]["disabled_by_setting"] > 0
// report: calls["MPI_Startall"]["declined"]["disabled_by_setting"] > 0
// report: calls["MPI_Mrecv"]["declined"]["disabled_by_setting"] > 0
// report: calls["MPI_Imrecv"]["declined"]["disabled_by_setting"] > 0
#include "oracle/verdict.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int peer = 1 - co_test_rank(), out = 10 + co_test_rank(), in = 0;
    MPI_Request requests[2], pending;
    MPI_Message message;
    MPI_Send_init(&out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Start(&requests[0]);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    co_test_expect(in == 10 + peer, "MPI_Start: %d", in);
    in = 0;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    co_test_expect(in == 10 + peer, "MPI_Startall: %d", in);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    for (int turn = 0; turn < 2; turn++) {
        in = 0;
        MPI_Isend(&out, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &pending);
        MPI_Mprobe(peer, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        if (turn == 0) {
            MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        } else {
            MPI_Imrecv(&in, 1, MPI_INT, &message, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
        co_test_expect(in == 10 + peer, "matched: %d", in);
    }
    return co_test_finish();
}
