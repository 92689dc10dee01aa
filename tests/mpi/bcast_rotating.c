// SPDX-License-Identifier: BSD-3-Clause
// Thousands of small broadcasts back to back, each from the next root, without anything that would
// synchronise the ranks in between; every so often a larger one, and ranks that lag behind because
// they compute. An operation that starts before the last one is acknowledged must not mix with it.
// With an argument all wait until the file of that name is there: what else is to happen meanwhile has begun.
// ranks: 2 3 7
// expect: every rank has every root's bytes, in order
// taken: MPI_Bcast
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPERATIONS 1500
#define LARGEST (200 * 1000)

static size_t size_of(int operation)
{
    if (operation % 97 == 96) {
        return LARGEST - (size_t)operation;
    }
    return (size_t)(operation * 37 % 700);
}

// A rank that arrives late for some operations, a different one each time.
static void lag(int operation)
{
    if (operation % 50 != co_test_rank() * 7) {
        return;
    }
    volatile unsigned long turns = 300000;
    while (turns > 0) {
        turns--;
    }
}

static void broadcast(unsigned char *buffer, int operation, int root)
{
    size_t bytes = size_of(operation);
    uint64_t seed = co_test_seed(root, operation, bytes);
    if (root == co_test_rank()) {
        co_test_pattern_fill(buffer, bytes, seed);
    } else {
        memset(buffer, 0xEE, bytes);
    }
    lag(operation);
    MPI_Bcast(buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(buffer, bytes, seed, "operation %d of %zu bytes from %d", operation, bytes, root);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    while (argc > 1 && access(argv[1], F_OK) != 0) {
        usleep(10000);
    }
    unsigned char *buffer = malloc(LARGEST);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        broadcast(buffer, operation, operation % co_test_size());
    }
    // One root only: it may run ahead as far as credit allows.
    for (int operation = 0; operation < OPERATIONS; operation++) {
        broadcast(buffer, operation, co_test_size() - 1);
    }
    free(buffer);
    return co_test_finish();
}
