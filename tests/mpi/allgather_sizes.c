// SPDX-License-Identifier: BSD-3-Clause
// Allgathers of every size that matters, with a send buffer and in place, blocking and non-blocking.
// Receive buffers are poisoned before; a byte behind them must survive, and so must the send buffer.
// ranks: 1 2 3 5
// expect: block r holds the bytes of rank r
// taken: MPI_Allgather MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {0, 1, 7, 48, 49, 256, 4096, 4097, 65535, (1 << 20) + 13, 5 * (1 << 20) + 1};

enum { BLOCKING = 1, IN_PLACE = 2, VARIANTS = 4 };

static void check_blocks(const unsigned char *receive, size_t bytes, int operation)
{
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + (size_t)r * bytes, bytes, co_test_seed(r, operation, bytes),
                         "operation %d: block %d of %zu bytes", operation, r, bytes);
    }
}

static void gather(unsigned char *send, unsigned char *receive, size_t bytes, int operation)
{
    size_t total = bytes * (size_t)co_test_size();
    uint64_t seed = co_test_seed(co_test_rank(), operation, bytes);
    memset(receive, 0xEE, total);
    receive[total] = 0x5A;
    co_test_pattern_fill(send, bytes, seed);
    void *source = send;
    if (operation & IN_PLACE) {
        source = MPI_IN_PLACE;
        co_test_pattern_fill(receive + (size_t)co_test_rank() * bytes, bytes, seed);
    }
    int count = (int)bytes;
    if (operation & BLOCKING) {
        MPI_Allgather(source, count, MPI_BYTE, receive, count, MPI_BYTE, MPI_COMM_WORLD);
    } else {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallgather(source, count, MPI_BYTE, receive, count, MPI_BYTE, MPI_COMM_WORLD, &request);
        co_test_expect(request != MPI_REQUEST_NULL, "operation %d: null request at start", operation);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_test_expect(request == MPI_REQUEST_NULL, "operation %d: request kept", operation);
    }
    co_test_expect(receive[total] == 0x5A, "byte behind %zu bytes written", total);
    co_test_expect(co_test_pattern_mismatch(send, bytes, seed) == bytes, "send buffer changed");
    check_blocks(receive, bytes, operation);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    size_t count = sizeof sizes / sizeof sizes[0];
    size_t largest = sizes[count - 1];
    unsigned char *send = malloc(largest + 1);
    unsigned char *receive = malloc(largest * (size_t)co_test_size() + 1);
    int operation = 0;
    for (size_t s = 0; s < count; s++) {
        // The two largest sizes go through two of the variants each, to save time.
        int variants = sizes[s] > 65536 ? 2 : VARIANTS;
        for (int v = 0; v < variants; v++) {
            gather(send, receive, sizes[s], operation * VARIANTS + (v + (int)s) % VARIANTS);
            operation++;
        }
    }
    MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Iallgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(receive);
    free(send);
    return co_test_finish();
}
