// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts from addresses behind which other memory comes to stand in between, in every way that a program and its
// allocator know: unmapped and mapped again, mapped over, given back, moved away, freed; and after a fork. Who sends
// from memory that it remembers (verbs: registrations) must not send what stood there before.
// ranks: 2 3
// expect: every rank has what its root wrote last
// taken: MPI_Bcast
#define _GNU_SOURCE // mremap
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 3
#define BYTES ((size_t)300 << 10)
#define ACCESS (PROT_READ | PROT_WRITE)

enum change { LEAVE, UNMAP, MAP_OVER, GIVE_BACK, MOVE_AWAY, FORK, CHANGES };

static unsigned char *map_at(void *at)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0);
    unsigned char *mapped = mmap(at, BYTES, ACCESS, flags, -1, 0);
    if (mapped == MAP_FAILED) {
        abort();
    }
    return mapped;
}

// The child writes to what it has, too.
static void fork_and_wait(unsigned char *memory)
{
    pid_t child = fork();
    if (child == 0) {
        memset(memory, 0x11, BYTES);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void change_memory(unsigned char *memory, enum change change)
{
    void *away;
    switch (change) {
    case UNMAP:
        munmap(memory, BYTES);
        map_at(memory);
        break;
    case MAP_OVER:
        map_at(memory);
        break;
    case GIVE_BACK:
        madvise(memory, BYTES, MADV_DONTNEED);
        break;
    case MOVE_AWAY:
        away = map_at(NULL);
        if (mremap(memory, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, away) != away) {
            abort();
        }
        map_at(memory);
        munmap(away, BYTES);
        break;
    case FORK:
        fork_and_wait(memory);
        break;
    default:
        break;
    }
}

static void broadcast(unsigned char *buffer, int operation, int root, const char *what)
{
    uint64_t seed = co_test_seed(root, operation, BYTES);
    if (root == co_test_rank()) {
        co_test_pattern_fill(buffer, BYTES, seed);
    } else {
        memset(buffer, 0xEE, BYTES);
    }
    MPI_Bcast(buffer, (int)BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(buffer, BYTES, seed, "%s, operation %d from %d", what, operation, root);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int operation = 0;
    unsigned char *memory = map_at(NULL);
    for (int round = 0; round < ROUNDS * CHANGES; round++) {
        for (int root = 0; root < co_test_size(); root++) {
            broadcast(memory, operation++, root, "mapped");
        }
        change_memory(memory, (enum change)(round % CHANGES));
    }
    munmap(memory, BYTES);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        unsigned char *allocated = malloc(BYTES);
        for (int root = 0; root < co_test_size(); root++) {
            broadcast(allocated, operation++, root, "allocated");
        }
        free(allocated);
    }
    return co_test_finish();
}
