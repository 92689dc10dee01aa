// SPDX-License-Identifier: BSD-3-Clause
// Hundreds of messages, broadcasts and allgathers of each middle size, so that both ways inside a node are tried and
// either may be taken from then on: there and back, in windows, from roots that take turns, and with blocks in place.
// Ranks lag behind now and then.
// ranks: 2 3
// expect: every byte arrives, whichever way it took
// taken: MPI_Send MPI_Recv MPI_Bcast MPI_Allgather
// modes: native off on
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST (300 * 1000)
#define WINDOW 12
#define ROUNDS 150

static const size_t sizes[] = {20000, 40000, 70000, 140000, LARGEST};

static unsigned char *room, *blocks; // of all ranks' blocks; of a window's

static void lag(int round)
{
    volatile unsigned long turns = round % 40 == co_test_rank() * 5 ? 100000 : 0;
    while (turns > 0) {
        turns--;
    }
}

// Rank 0's to the next one, and its answer.
static void there_and_back(int round, size_t bytes)
{
    int me = co_test_rank();
    for (int half = 0; half < 2 && me < 2; half++) {
        uint64_t seed = co_test_seed(half, round, bytes);
        lag(round);
        if (me == half) {
            co_test_pattern_fill(room, bytes, seed);
            MPI_Send(room, (int)bytes, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD);
        } else {
            memset(room, 0xEE, bytes);
            MPI_Recv(room, (int)bytes, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            co_test_received(room, bytes, seed, "round %d, %zu bytes, half %d", round, bytes, half);
        }
    }
}

static void window(int round, size_t bytes)
{
    MPI_Request requests[WINDOW];
    int me = co_test_rank();
    for (int i = 0; i < WINDOW && me < 2; i++) {
        unsigned char *block = blocks + (size_t)i * LARGEST;
        if (me == 0) {
            co_test_pattern_fill(block, bytes, co_test_seed(i, round, bytes));
            MPI_Isend(block, (int)bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
        } else {
            memset(block, 0xEE, bytes);
            MPI_Irecv(block, (int)bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        }
    }
    lag(round);
    if (me < 2) {
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < WINDOW && me == 1; i++) {
        co_test_received(blocks + (size_t)i * LARGEST, bytes, co_test_seed(i, round, bytes),
                         "round %d, message %d of %zu bytes", round, i, bytes);
    }
}

static void broadcast(int round, size_t bytes)
{
    int root = round / 7 % co_test_size();
    uint64_t seed = co_test_seed(root, round, bytes);
    if (root == co_test_rank()) {
        co_test_pattern_fill(room, bytes, seed);
    } else {
        memset(room, 0xEE, bytes);
    }
    lag(round);
    MPI_Bcast(room, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(room, bytes, seed, "broadcast %d of %zu bytes from %d", round, bytes, root);
}

static void allgather(int round, size_t bytes)
{
    memset(room, 0xEE, (size_t)co_test_size() * bytes);
    co_test_pattern_fill(room + (size_t)co_test_rank() * bytes, bytes, co_test_seed(co_test_rank(), round, bytes));
    lag(round);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, room, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int rank = 0; rank < co_test_size(); rank++) {
        co_test_received(room + (size_t)rank * bytes, bytes, co_test_seed(rank, round, bytes),
                         "block of %d, round %d, %zu bytes", rank, round, bytes);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    room = malloc((size_t)co_test_size() * LARGEST);
    blocks = malloc((size_t)WINDOW * LARGEST);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int round = 0; round < ROUNDS; round++) {
            there_and_back(round, sizes[i]);
            broadcast(round, sizes[i]);
            allgather(round, sizes[i]);
            if (round % 20 == 0) {
                window(round, sizes[i]);
            }
        }
    }
    free(room);
    free(blocks);
    return co_test_finish();
}
