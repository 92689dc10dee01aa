// SPDX-License-Identifier: BSD-3-Clause
// A PMPI tool that wraps MPI_Bcast and calls PMPI_Bcast, preloaded in front of the library. It must see
// every call of the program, and the library must serve what the tool passes on. Behind the library it
// must at least do no harm: it is only reached by what is handed down under the name MPI_Bcast.
// ranks: 3
// tool: front behind
// expect: right bytes; in front the tool counts all the calls, in every mode
// taken: MPI_Bcast
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 20

// The tool stands in front when MPI_Bcast as the program sees it lies in the tool.
static bool tool_in_front(void)
{
    Dl_info info;
    void *symbol = dlsym(RTLD_DEFAULT, "MPI_Bcast");
    return dladdr(symbol, &info) != 0 && strstr(info.dli_fname, "bcast_counter") != NULL;
}

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
    }
    void *symbol = dlsym(RTLD_DEFAULT, "bcast_counter_value");
    long (*value)(void) = NULL;
    memcpy(&value, &symbol, sizeof value);
    if (co_test_expect(value != NULL, "the tool is not loaded") && tool_in_front()) {
        co_test_expect(value() == CALLS, "the tool saw %ld of %d calls", value(), CALLS);
    }
    return co_test_finish();
}
