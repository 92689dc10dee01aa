// SPDX-License-Identifier: BSD-3-Clause
// A rank sends more messages than it waits for and computes then, without any call of MPI, until the other one tells it
// through memory that it has them all: short ones lie in the ring, longer ones are read from the sender's memory. Then
// the other way round: who has received computes, and the sender learns all the same that its sends are over. Natively
// that holds for fewer messages, and not everywhere.
// ranks: 2
// modes: on
// environment: CASTOFF_P2P=yes
// arguments: CASTOFF_P2P_STREAM=1M
// arguments: CASTOFF_P2P_STREAM=0
// arguments: CASTOFF_P2P_STREAM=auto
// expect: who computes holds nobody up
#define _GNU_SOURCE // process_vm_readv
#include "oracle/verdict.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 200, ROUNDS = 20 };

static const struct shape {
    int count, bytes;
    bool is_read; // by the kernel
} shapes[] = {{MOST, 8, false}, {50, 4000, false}, {MOST, 20000, true}, {100, 70000, true}};

static _Atomic int *turn; // shared
static int rank;

static void compute_until(int round)
{
    while (atomic_load(turn) < round) {
        sched_yield();
    }
}

// Whether the kernel lets ranks read each other's memory.
static bool may_read(void)
{
    struct {
        long pid;
        void *word;
    } other = {getpid(), &rank};
    int word, mine, all;
    MPI_Sendrecv_replace(&other, sizeof other, MPI_BYTE, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    struct iovec here = {&word, sizeof word}, there = {other.word, sizeof word};
    mine = process_vm_readv((pid_t)other.pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof word;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static void send_all(const struct shape *shape, unsigned char *buffer, int round, bool computes)
{
    MPI_Request requests[MOST];
    for (int i = 0; i < shape->count; i++) {
        unsigned char *bytes = buffer + (size_t)i * (size_t)shape->bytes;
        co_test_pattern_fill(bytes, (size_t)shape->bytes, co_test_seed(i, round, (size_t)shape->bytes));
        MPI_Isend(bytes, shape->bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
    }
    if (computes) {
        compute_until(round);
    }
    co_test_expect(MPI_Waitall(shape->count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "sends of %d bytes",
                   shape->bytes);
    if (!computes) {
        atomic_store(turn, round);
    }
}

static void receive_all(const struct shape *shape, unsigned char *buffer, int round, bool computes)
{
    for (int i = 0; i < shape->count; i++) {
        unsigned char *bytes = buffer + (size_t)i * (size_t)shape->bytes;
        memset(bytes, 0xEE, (size_t)shape->bytes);
        MPI_Recv(bytes, shape->bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (computes) {
        compute_until(round);
    } else {
        atomic_store(turn, round);
    }
    for (int i = 0; i < shape->count; i++) {
        co_test_received(buffer + (size_t)i * (size_t)shape->bytes, (size_t)shape->bytes,
                         co_test_seed(i, round, (size_t)shape->bytes), "message %d of %d bytes", i, shape->bytes);
    }
}

int main(int argc, char **argv)
{
    MPI_Win window;
    MPI_Aint bytes;
    int unit, round = 0;
    for (int i = 1; i < argc; i++) {
        putenv(argv[i]);
    }
    MPI_Init(NULL, NULL);
    co_test_begin();
    rank = co_test_rank();
    MPI_Win_allocate_shared(rank == 0 ? sizeof *turn : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &turn, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &turn);
    if (rank == 0) {
        atomic_init(turn, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bool reads = may_read();
    unsigned char *buffer = malloc((size_t)MOST * 70000);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int turns = 0; turns < ROUNDS && (reads || !shapes[i].is_read); turns++) {
            bool sender_computes = turns % 2 == 0;
            round++;
            MPI_Barrier(MPI_COMM_WORLD); // nothing of the round before is left in the ring
            if (rank == 0) {
                send_all(&shapes[i], buffer, round, sender_computes);
            } else {
                receive_all(&shapes[i], buffer, round, !sender_computes);
            }
        }
    }
    free(buffer);
    MPI_Win_free(&window);
    return co_test_finish();
}
