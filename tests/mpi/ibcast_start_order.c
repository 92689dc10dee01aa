// SPDX-License-Identifier: BSD-3-Clause
// A start must not wait for anybody, neither the root's nor another's. One rank starts the operation, then sends; the
// others first receive and then start theirs. That rank is the root, and in every other operation it is not. Then the
// same with a rank that stays away while the others start a whole row of operations.
// ranks: 2 3
// expect: ends, with the right bytes
// taken: MPI_Ibcast
#include "oracle/verdict.h"

#include <stdlib.h>

#define LARGEST 1000003
#define ROW 20
#define ROW_BYTES 5000

static void run(unsigned char *buffer, size_t bytes, int operation)
{
    MPI_Request request;
    int token = operation;
    int first = operation % co_test_size(), root = (first + operation % 2) % co_test_size();
    if (co_test_rank() == root) {
        co_test_pattern_fill(buffer, bytes, co_test_seed(root, operation, bytes));
    }
    if (co_test_rank() == first) {
        MPI_Ibcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
        for (int r = 0; r < co_test_size(); r++) {
            if (r != first) {
                MPI_Ssend(&token, 1, MPI_INT, r, operation, MPI_COMM_WORLD);
            }
        }
    } else {
        MPI_Recv(&token, 1, MPI_INT, first, operation, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    }
    co_test_expect(request != MPI_REQUEST_NULL, "null request at start");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_test_received(buffer, bytes, co_test_seed(root, operation, bytes), "operation %d of %zu bytes", operation,
                     bytes);
}

static void run_row(unsigned char *buffer, int late)
{
    MPI_Request requests[ROW];
    int token = late;
    if (co_test_rank() == late) {
        for (int r = 0; r < co_test_size(); r++) {
            if (r != late) {
                MPI_Recv(&token, 1, MPI_INT, r, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
    }
    for (int i = 0; i < ROW; i++) {
        int root = i % co_test_size();
        if (co_test_rank() == root) {
            co_test_pattern_fill(buffer + (size_t)i * ROW_BYTES, ROW_BYTES, co_test_seed(root, 1000 + i, ROW_BYTES));
        }
        MPI_Ibcast(buffer + (size_t)i * ROW_BYTES, ROW_BYTES, MPI_BYTE, root, MPI_COMM_WORLD, &requests[i]);
    }
    if (co_test_rank() != late) {
        MPI_Ssend(&token, 1, MPI_INT, late, 99, MPI_COMM_WORLD);
    }
    MPI_Waitall(ROW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < ROW; i++) {
        co_test_received(buffer + (size_t)i * ROW_BYTES, ROW_BYTES,
                         co_test_seed(i % co_test_size(), 1000 + i, ROW_BYTES), "rank %d late, operation %d", late, i);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const size_t sizes[] = {0, 8, 5000, 100000, LARGEST};
    unsigned char *buffer = malloc(LARGEST);
    for (int operation = 0; operation < 30; operation++) {
        run(buffer, sizes[operation % 5], operation);
    }
    for (int late = 0; late < co_test_size(); late++) {
        run_row(buffer, late);
    }
    free(buffer);
    return co_test_finish();
}
