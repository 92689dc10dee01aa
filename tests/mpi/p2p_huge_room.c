// SPDX-License-Identifier: BSD-3-Clause
// Receives of a derived type whose count is the largest that there is, for messages that are short: programs say so
// when they do not know what comes. The room that they have, a tebibyte, is more than the machine has.
// ranks: 2
// environment: CASTOFF_P2P=yes
// expect: every receive gets its message
// report: calls["MPI_Recv"]["taken"] > 0 and calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <limits.h>

enum { BLOCKS = 64, STRIDE = 2, ELEMENTS = 20, EXTENT = BLOCKS * STRIDE };

static MPI_Datatype spread;
static double out[ELEMENTS * EXTENT], in[(ELEMENTS + 1) * EXTENT];
static int peer;

static void make_type(void)
{
    MPI_Datatype blocks;
    MPI_Type_vector(BLOCKS, 1, STRIDE, MPI_DOUBLE, &blocks);
    MPI_Type_create_resized(blocks, 0, (MPI_Aint)(EXTENT * sizeof(double)), &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&blocks);
}

static void prepare(int tag)
{
    for (int i = 0; i < ELEMENTS * EXTENT; i++) {
        out[i] = 10000 * tag + 100000000.0 * co_test_rank() + i;
    }
    for (int i = 0; i < (ELEMENTS + 1) * EXTENT; i++) {
        in[i] = -1;
    }
}

static void check(const char *call, int tag, const MPI_Status *status)
{
    int count = -1, wrong = 0;
    MPI_Get_count(status, spread, &count);
    for (int i = 0; i < (ELEMENTS + 1) * EXTENT; i++) {
        double right = i < ELEMENTS * EXTENT && i % STRIDE == 0 ? 10000 * tag + 100000000.0 * peer + i : -1;
        wrong += in[i] != right;
    }
    co_test_expect(count == ELEMENTS && wrong == 0, "%s: %d elements, %d doubles wrong", call, count, wrong);
    co_test_say("%s: %d elements\n", call, count);
}

int main(int argc, char **argv)
{
    MPI_Request send, receive;
    MPI_Message message;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    co_test_begin();
    peer = 1 - co_test_rank();
    make_type();

    prepare(1);
    MPI_Irecv(in, INT_MAX, spread, peer, 1, MPI_COMM_WORLD, &receive);
    MPI_Send(out, ELEMENTS, spread, peer, 1, MPI_COMM_WORLD);
    MPI_Wait(&receive, &status);
    check("MPI_Irecv", 1, &status);

    prepare(2);
    MPI_Isend(out, ELEMENTS, spread, peer, 2, MPI_COMM_WORLD, &send);
    MPI_Recv(in, INT_MAX, spread, peer, 2, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    check("MPI_Recv", 2, &status);

    prepare(3);
    MPI_Isend(out, ELEMENTS, spread, peer, 3, MPI_COMM_WORLD, &send);
    MPI_Mprobe(peer, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, INT_MAX, spread, &message, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    check("MPI_Mrecv", 3, &status);

    prepare(4);
    MPI_Sendrecv(out, ELEMENTS, spread, peer, 4, in, INT_MAX, spread, peer, 4, MPI_COMM_WORLD, &status);
    check("MPI_Sendrecv", 4, &status);

    MPI_Recv_init(in, INT_MAX, spread, peer, 5, MPI_COMM_WORLD, &receive);
    for (int start = 0; start < 2; start++) {
        prepare(5);
        MPI_Start(&receive);
        MPI_Send(out, ELEMENTS, spread, peer, 5, MPI_COMM_WORLD);
        MPI_Wait(&receive, &status);
        check("MPI_Start", 5, &status);
    }
    MPI_Request_free(&receive);
    MPI_Type_free(&spread);
    return co_test_finish();
}
