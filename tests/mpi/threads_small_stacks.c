// SPDX-License-Identifier: BSD-3-Clause
// A thread whose stack is 32 KiB moves long messages and broadcasts and allgathers long blocks, to memory that begins
// otherwise in its page than where they come from. Below its stack is the program's own memory. Skipped where stock
// does not provide the level.
// ranks: 2 3
// environment: CASTOFF_SHM_SINGLE_COPY=yes CASTOFF_P2P_STREAM=0
// expect: each byte, and nothing is written below the stack
// taken: MPI_Bcast MPI_Allgather
#include "oracle/verdict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK ((size_t)32 << 10)
#define BELOW ((size_t)64 << 10)
#define BYTES ((size_t)300 << 10)
#define AHEAD 16 // as malloc's
#define ROUNDS 8
#define MARK 0x5a

static unsigned char *send, *receive;

static void run_round(int round)
{
    int rank = co_test_rank(), size = co_test_size(), root = round % size;
    unsigned char *place = receive + AHEAD;
    uint64_t seed = co_test_seed(root, 3 * round, BYTES);
    co_test_pattern_fill(send, BYTES, seed);
    MPI_Bcast(rank == root ? send : place, (int)BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(rank == root ? send : place, BYTES, seed, "broadcast %d", round);
    co_test_pattern_fill(send, BYTES, co_test_seed(rank, 3 * round + 1, BYTES));
    MPI_Allgather(send, (int)BYTES, MPI_BYTE, place, (int)BYTES, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++) {
        co_test_received(place + (size_t)from * BYTES, BYTES, co_test_seed(from, 3 * round + 1, BYTES),
                         "allgather %d, block %d", round, from);
    }
    int left = (rank + size - 1) % size;
    co_test_pattern_fill(send, BYTES, co_test_seed(rank, 3 * round + 2, BYTES));
    MPI_Sendrecv(send, (int)BYTES, MPI_BYTE, (rank + 1) % size, round, place, (int)BYTES, MPI_BYTE, left, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    co_test_received(place, BYTES, co_test_seed(left, 3 * round + 2, BYTES), "message %d", round);
}

static void *work(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        run_round(round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    co_test_begin();
    if (provided != MPI_THREAD_MULTIPLE) {
        return co_test_skip("MPI_THREAD_MULTIPLE is not provided");
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = aligned_alloc(page, BELOW + STACK);
    send = aligned_alloc(page, BYTES / page * page + page);
    receive = aligned_alloc(page, ((size_t)co_test_size() * BYTES + AHEAD) / page * page + page);
    memset(memory, MARK, BELOW);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, memory + BELOW, STACK) != 0) {
        return co_test_skip("no thread has so small a stack here");
    }
    if (co_test_expect(pthread_create(&thread, &attributes, work, NULL) == 0, "no thread")) {
        pthread_join(thread, NULL);
    }
    pthread_attr_destroy(&attributes);
    size_t whole = 0;
    while (whole < BELOW && memory[whole] == MARK) {
        whole++;
    }
    co_test_expect(whole == BELOW, "written below the stack from byte %zu on", whole);
    free(memory);
    free(receive);
    free(send);
    return co_test_finish();
}
