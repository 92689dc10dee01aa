// SPDX-License-Identifier: BSD-3-Clause
// A PMPI tool that wraps MPI_Init, MPI_Bcast and MPI_Recv and calls PMPI, preloaded in front of the library, and behind
// it, where one that the program is linked with stands, too. It must see every call of the program, and the library
// must serve what the tool passes on. One that calls what comes next behind the library must do no harm: it is not
// called.
// ranks: 3
// environment: CASTOFF_P2P=yes
// tool: front behind next
// expect: right bytes; the tool counts all the calls, in every mode
// taken: MPI_Bcast MPI_Recv
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 20

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static unsigned char buffer[30000];
    for (int i = 0; i < CALLS; i++) {
        int root = i % co_test_size();
        size_t bytes = (size_t)i * 1501;
        uint64_t seed = co_test_seed(root, i, bytes);
        if (root == co_test_rank()) {
            co_test_pattern_fill(buffer, bytes, seed);
        }
        MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        co_test_received(buffer, bytes, seed, "broadcast %d", i);
        int sent = i + co_test_rank(), got = -1;
        int right = (co_test_rank() + 1) % co_test_size(),
            left = (co_test_rank() + co_test_size() - 1) % co_test_size();
        MPI_Request request;
        MPI_Isend(&sent, 1, MPI_INT, right, i, MPI_COMM_WORLD, &request);
        MPI_Recv(&got, 1, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_test_expect(got == i + left, "message %d has %d", i, got);
    }
    void *symbol = dlsym(RTLD_DEFAULT, "bcast_counter_value");
    long (*value)(void) = NULL;
    memcpy(&value, &symbol, sizeof value);
    if (value != NULL) {
        co_test_expect(value() == 2 * CALLS, "the tool saw %ld of %d calls", value(), 2 * CALLS);
    }
    return co_test_finish();
}
