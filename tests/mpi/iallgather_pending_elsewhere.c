// SPDX-License-Identifier: BSD-3-Clause
// One rank sits in a blocking native call (barrier, receive, allreduce, window fence, probe, communicator
// duplication) while its Iallgather is pending, and the others leave that call only after they have
// *completed* theirs. So the operation must progress inside the native call of the first rank.
// ranks: 2 3
// expect: ends, with the right bytes
// taken: MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>

#define BYTES 600011

enum place { IN_BARRIER, IN_RECEIVE, IN_ALLREDUCE, IN_FENCE, IN_PROBE, IN_DUPLICATION, IN_RENDEZVOUS, PLACES };

static MPI_Win window;
static int exposed[16];
static char large[300000];

// Rank 0 receives from everybody; the others send.
static void meet_by_messages(enum place place)
{
    if (co_test_rank() != 0) {
        int bytes = place == IN_RENDEZVOUS ? (int)sizeof large : 1;
        MPI_Ssend(large, bytes, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
        return;
    }
    for (int r = 1; r < co_test_size(); r++) {
        MPI_Status status;
        if (place == IN_PROBE) {
            MPI_Probe(r, 5, MPI_COMM_WORLD, &status);
        }
        MPI_Recv(large, sizeof large, MPI_CHAR, r, 5, MPI_COMM_WORLD, &status);
    }
}

static void meet(enum place place)
{
    int one = 1;
    int sum = 0;
    MPI_Comm copy;
    switch (place) {
    case IN_BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case IN_ALLREDUCE:
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        co_test_expect(sum == co_test_size(), "sum is %d", sum);
        break;
    case IN_FENCE:
        MPI_Put(&one, 1, MPI_INT, 0, co_test_rank(), 1, MPI_INT, window);
        MPI_Win_fence(0, window);
        co_test_expect(co_test_rank() != 0 || exposed[co_test_size() - 1] == 1, "nothing was put");
        break;
    case IN_DUPLICATION:
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_free(&copy);
        break;
    default:
        meet_by_messages(place);
        break;
    }
}

static void run(unsigned char *send, unsigned char *receive, enum place place, int operation)
{
    MPI_Request request;
    size_t bytes = operation % 2 == 0 ? BYTES : 100;
    int count = (int)bytes;
    co_test_pattern_fill(send, bytes, co_test_seed(co_test_rank(), operation, bytes));
    MPI_Iallgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, MPI_COMM_WORLD, &request);
    if (co_test_rank() == 0) {
        meet(place);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        meet(place);
    }
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + (size_t)r * bytes, bytes, co_test_seed(r, operation, bytes),
                         "place %d, operation %d, block %d", place, operation, r);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    unsigned char *send = malloc(BYTES);
    unsigned char *receive = malloc((size_t)BYTES * (size_t)co_test_size());
    MPI_Win_create(exposed, sizeof exposed, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    int operation = 0;
    for (int place = 0; place < PLACES; place++) {
        run(send, receive, (enum place)place, operation++);
        run(send, receive, (enum place)place, operation++);
    }
    MPI_Win_free(&window);
    free(receive);
    free(send);
    return co_test_finish();
}
