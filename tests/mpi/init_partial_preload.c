// SPDX-License-Identifier: BSD-3-Clause
// A job in which not all ranks have the library, or not with the same settings: the odd ranks start
// themselves again, without the preload or with another value of a setting that must be agreed on. The
// job must notice, stay native and give right results; it must not hang at the start.
// ranks: 2 3
// arguments: preload
// arguments: setting
// arguments: switch
// complaint: once: runs on native MPI: (rank 1 runs without castoff|CASTOFF_BCAST differs between the ranks)
// expect: right bytes, no hang
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Changes the environment of the odd ranks and starts the program again; a mark stops the second round.
static void restart_differently(char **argv, const char *how)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank != NULL ? rank : getenv("PMI_RANK"); // MPICH's launcher
    if (rank == NULL || atoi(rank) % 2 == 0 || getenv("RESTARTED") != NULL) {
        return;
    }
    setenv("RESTARTED", "1", 1);
    if (strcmp(how, "preload") == 0) {
        unsetenv("LD_PRELOAD");
    } else if (strcmp(how, "setting") == 0) {
        setenv("CASTOFF_BCAST", "no", 1);
    } else {
        setenv("CASTOFF_ENABLE", "0", 1);
    }
    execv("/proc/self/exe", argv);
    perror("execv");
    exit(1);
}

int main(int argc, char **argv)
{
    static unsigned char buffer[50000];
    static unsigned char gathered[50000 * 3];
    restart_differently(argv, argc > 1 ? argv[1] : "preload");
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < 6; i++) {
        size_t bytes = i % 2 == 0 ? sizeof buffer : 100;
        int root = i % co_test_size();
        uint64_t seed = co_test_seed(root, i, bytes);
        if (co_test_rank() == root) {
            co_test_pattern_fill(buffer, bytes, seed);
        }
        MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        co_test_received(buffer, bytes, seed, "broadcast %d", i);
        co_test_pattern_fill(buffer, bytes, co_test_seed(co_test_rank(), i + 100, bytes));
        MPI_Request request;
        MPI_Iallgather(buffer, (int)bytes, MPI_BYTE, gathered, (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < co_test_size(); r++) {
            co_test_received(gathered + (size_t)r * bytes, bytes, co_test_seed(r, i + 100, bytes),
                             "gather %d, block %d", i, r);
        }
    }
    return co_test_finish();
}
