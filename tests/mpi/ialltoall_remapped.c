// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls of buffers that are known by their addresses, behind which other memory comes to stand in between, in
// every way that a program and its allocator know: mapped again, mapped over, given back, moved away, freed into a heap
// that shrinks; from memory that can only be read, into memory that nobody has touched. While each call is out, for the
// first rank starts it last, the others have children, which write to what they have and leave in several ways.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes
// expect: right bytes; children exit as they should
// taken: MPI_Ialltoall
#define _GNU_SOURCE // mremap
#include "oracle/verdict.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK ((size_t)70 << 10)
#define ALL (BLOCK * (size_t)co_test_size())
#define ACCESS (PROT_READ | PROT_WRITE)

enum change { LEAVE, UNMAP, MAP_OVER, GIVE_BACK, MOVE_AWAY, CHANGES };
enum way { NO_CHILD, BY_EXIT, BY_EXEC, BY_SYSTEM, WAYS };

static unsigned char *map_at(void *at)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0);
    unsigned char *mapped = mmap(at, ALL, ACCESS, flags, -1, 0);
    if (mapped == MAP_FAILED) {
        abort();
    }
    return mapped;
}

static void change_memory(unsigned char *memory, enum change change)
{
    if (change == UNMAP) {
        munmap(memory, ALL);
    }
    if (change == UNMAP || change == MAP_OVER) {
        map_at(memory);
    } else if (change == GIVE_BACK) {
        madvise(memory, ALL, MADV_DONTNEED);
    } else if (change == MOVE_AWAY) {
        void *away = map_at(NULL);
        if (mremap(memory, ALL, ALL, MREMAP_MAYMOVE | MREMAP_FIXED, away) != away) {
            abort();
        }
        map_at(memory);
        munmap(away, ALL);
    }
}

static void have_child(enum way way, unsigned char *receive)
{
    int status = way == BY_SYSTEM ? system("exit 7") : -1;
    pid_t child = way == BY_EXIT || way == BY_EXEC ? fork() : -1;
    if (child == 0) {
        memset(receive, 0x11, ALL);
        if (way == BY_EXEC) {
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
        }
        _exit(7);
    }
    if (child > 0) {
        waitpid(child, &status, 0);
    }
    co_test_expect(way == NO_CHILD || (WIFEXITED(status) && WEXITSTATUS(status) == 7), "child %d: status %d", way,
                   status);
}

// The first rank starts when all others have started, and had their children.
static void first_is_last(enum way way, unsigned char *receive)
{
    int size = co_test_size(), nothing = 0;
    if (co_test_rank() > 0) {
        have_child(way, receive);
        MPI_Send(&nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    for (int i = 1; i < size && co_test_rank() == 0; i++) {
        MPI_Recv(&nothing, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void exchange(unsigned char *send, unsigned char *receive, int number, int is_read_only)
{
    int own = co_test_rank(), size = co_test_size();
    enum way way = (enum way)(number % WAYS);
    MPI_Request request;
    for (int to = 0; to < size; to++) {
        co_test_pattern_fill(send + (size_t)to * BLOCK, BLOCK, co_test_seed(own * size + to, number, BLOCK));
    }
    if (is_read_only) {
        mprotect(send, ALL, PROT_READ);
    }
    if (own == 0) {
        first_is_last(way, receive);
    }
    MPI_Ialltoall(send, (int)BLOCK, MPI_BYTE, receive, (int)BLOCK, MPI_BYTE, MPI_COMM_WORLD, &request);
    if (own > 0) {
        first_is_last(way, receive);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int from = 0; from < size; from++) {
        co_test_received(receive + (size_t)from * BLOCK, BLOCK, co_test_seed(from * size + own, number, BLOCK),
                         "call %d: block %d", number, from);
    }
    if (is_read_only) {
        mprotect(send, ALL, ACCESS);
    }
}

int main(int argc, char **argv)
{
    int number = 0;
    MPI_Init(&argc, &argv);
    co_test_begin();
    unsigned char *send = map_at(NULL), *receive = map_at(NULL);
    for (int round = 0; round < 3 * CHANGES; round++) {
        exchange(send, receive, number++, round % 2);
        change_memory(send, (enum change)(round % CHANGES));
        change_memory(receive, (enum change)((round + round / CHANGES) % CHANGES));
    }
    munmap(send, ALL);
    munmap(receive, ALL);
    mallopt(M_MMAP_THRESHOLD, 64 << 20); // from the heap, which becomes shorter at once
    mallopt(M_TRIM_THRESHOLD, 0);
    for (int round = 0; round < 4; round++) {
        unsigned char *filler = malloc((size_t)(round % 2) * 12345 + 1);
        send = malloc(ALL);
        receive = malloc(ALL);
        exchange(send, receive, number++, 0);
        free(receive);
        free(send);
        free(filler);
    }
    return co_test_finish();
}
