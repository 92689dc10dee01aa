// SPDX-License-Identifier: BSD-3-Clause
// MPI_Cancel as the only call that moves: one rank posts a receive, cancels it and waits for it until a message had it,
// while the other waits in synchronous sends. Natively this may stand still.
// ranks: 2
// environment: CASTOFF_P2P=yes
// modes: on
// expect: every message is received
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <sched.h>
#include <stdlib.h>

#define LARGEST 100000

static const int sizes[] = {4, 5000, LARGEST};

#define MESSAGES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static void receive_or_cancel(unsigned char *bytes, MPI_Status *status)
{
    int is_cancelled = 1;
    while (is_cancelled) {
        MPI_Request request;
        MPI_Irecv(bytes, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, status);
        MPI_Test_cancelled(status, &is_cancelled);
        sched_yield();
    }
}

static void receive_all(unsigned char *bytes)
{
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status status;
        int count;
        receive_or_cancel(bytes, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        co_test_expect(count == sizes[i] && status.MPI_TAG == i, "message %d: %d bytes, tag %d", i, count,
                       status.MPI_TAG);
        size_t good = co_test_pattern_mismatch(bytes, (size_t)sizes[i], co_test_seed(1, i, 0));
        co_test_expect(good == (size_t)sizes[i], "message %d: byte %zu is wrong", i, good);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    unsigned char *bytes = malloc(LARGEST);
    if (co_test_rank() == 0) {
        receive_all(bytes);
    } else {
        for (int i = 0; i < MESSAGES; i++) {
            co_test_pattern_fill(bytes, (size_t)sizes[i], co_test_seed(1, i, 0));
            int code = MPI_Ssend(bytes, sizes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD);
            co_test_expect(code == MPI_SUCCESS, "message %d: code %d", i, code);
        }
    }
    free(bytes);
    return co_test_finish();
}
