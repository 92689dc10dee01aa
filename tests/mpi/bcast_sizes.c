// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts of every size that matters (nothing, one byte, around every inline and chunk border,
// several chunks with a short tail) from every root, into buffers that were poisoned before. A byte
// behind the buffer must survive.
// ranks: 1 2 3 5
// expect: every rank has the root's bytes
// taken: MPI_Bcast
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {
    0, 1, 7, 48, 49, 255, 256, 1023, 4095, 4096, 4097, 65535, 65536, 65537, (1 << 20) + 13, 5 * (1 << 20) + 1};

static void check_size(unsigned char *buffer, size_t bytes, int root, int operation)
{
    uint64_t seed = co_test_seed(root, operation, bytes);
    if (co_test_rank() == root) {
        co_test_pattern_fill(buffer, bytes, seed);
    } else {
        memset(buffer, 0xEE, bytes);
    }
    buffer[bytes] = 0x5A;
    int error = MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_expect(error == MPI_SUCCESS, "error %d for %zu bytes from %d", error, bytes, root);
    co_test_expect(buffer[bytes] == 0x5A, "byte behind %zu bytes from %d written", bytes, root);
    co_test_received(buffer, bytes, seed, "%zu bytes from root %d", bytes, root);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    size_t count = sizeof sizes / sizeof sizes[0];
    unsigned char *buffer = malloc(sizes[count - 1] + 1);
    int operation = 0;
    for (size_t s = 0; s < count; s++) {
        for (int root = 0; root < co_test_size(); root++) {
            check_size(buffer, sizes[s], root, operation++);
        }
    }
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    // Unaligned user memory.
    check_size(buffer + 1, 70001, co_test_size() - 1, operation++);
    check_size(buffer + 3, 33, 0, operation++);
    free(buffer);
    return co_test_finish();
}
