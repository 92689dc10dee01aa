// SPDX-License-Identifier: BSD-3-Clause
// All three calls with as many ranks as one small host can bear: more ranks than cores, a size that no
// chain count divides, every root once.
// ranks: 16
// expect: right bytes everywhere
// taken: MPI_Bcast MPI_Allgather MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

static void broadcast(unsigned char *buffer, size_t bytes, int root)
{
    uint64_t seed = co_test_seed(root, 1, bytes);
    memset(buffer, 0xEE, bytes);
    if (root == co_test_rank()) {
        co_test_pattern_fill(buffer, bytes, seed);
    }
    MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(buffer, bytes, seed, "broadcast of %zu bytes from %d", bytes, root);
}

static void gather(unsigned char *send, unsigned char *receive, size_t bytes, bool blocking)
{
    int count = (int)bytes;
    co_test_pattern_fill(send, bytes, co_test_seed(co_test_rank(), blocking, bytes));
    memset(receive, 0xEE, bytes * (size_t)co_test_size());
    if (blocking) {
        MPI_Allgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        MPI_Iallgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(receive + (size_t)r * bytes, bytes, co_test_seed(r, blocking, bytes),
                         "gather of %zu bytes: block %d", bytes, r);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const size_t sizes[] = {1, 49, 4097, 65535, 300007};
    unsigned char *send = malloc(300007);
    unsigned char *receive = malloc((size_t)300007 * (size_t)co_test_size());
    for (int s = 0; s < 5; s++) {
        for (int root = 0; root < co_test_size(); root += s < 3 ? 1 : 5) {
            broadcast(receive, sizes[s], root);
        }
        gather(send, receive, sizes[s], true);
        gather(send, receive, sizes[s], false);
    }
    free(receive);
    free(send);
    return co_test_finish();
}
