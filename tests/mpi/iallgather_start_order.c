// SPDX-License-Identifier: BSD-3-Clause
// A start must not wait for anybody. Rank 0 starts the operation, then sends; the others first receive
// and then start theirs. An implementation that synchronises in the start hangs here. Then the reverse
// for completion: a rank finishes its own wait only after the others were told to start.
// ranks: 2 3
// expect: ends, with the right bytes
// taken: MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>

static void run(unsigned char *send, unsigned char *receive, size_t bytes, int operation)
{
    MPI_Request request;
    int token = operation;
    int first = operation % co_test_size();
    co_test_pattern_fill(send, bytes, co_test_seed(co_test_rank(), operation, bytes));
    if (co_test_rank() == first) {
        MPI_Iallgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
        for (int r = 0; r < co_test_size(); r++) {
            if (r != first) {
                MPI_Ssend(&token, 1, MPI_INT, r, operation, MPI_COMM_WORLD);
            }
        }
    } else {
        MPI_Recv(&token, 1, MPI_INT, first, operation, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iallgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    }
    co_test_expect(request != MPI_REQUEST_NULL, "null request at start");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + (size_t)r * bytes, bytes, co_test_seed(r, operation, bytes),
                         "operation %d of %zu bytes, block %d", operation, bytes, r);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const size_t sizes[] = {0, 8, 5000, 100000, 1000003};
    unsigned char *send = malloc(1000003);
    unsigned char *receive = malloc((size_t)1000003 * (size_t)co_test_size());
    for (int operation = 0; operation < 25; operation++) {
        run(send, receive, sizes[operation % 5], operation);
    }
    free(receive);
    free(send);
    return co_test_finish();
}
