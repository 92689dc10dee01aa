// SPDX-License-Identifier: BSD-3-Clause
// Many Ibcasts outstanding on two communicators, of every root and of sizes from nothing to some MiB, waited for in
// reverse order, in order, by Waitall, and with blocking collectives, castoff's and native, on the same communicators
// while all of them are pending.
// ranks: 2 3 5
// expect: every operation delivers its own bytes, no request is null or used twice
// taken: MPI_Ibcast MPI_Bcast MPI_Allgather
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define OUTSTANDING 48
#define LARGEST 3000001

static const size_t sizes[] = {1, 48, 1000, 0, 49, 20000, 1433, 70000};
static unsigned char *buffers[OUTSTANDING];
static MPI_Request requests[OUTSTANDING];
static MPI_Comm comms[2];

static size_t size_of(int slot)
{
    return slot % 24 == 23 ? LARGEST : sizes[slot % 8];
}

static int root_of(int slot)
{
    return (slot / 2) % co_test_size();
}

static uint64_t seed_of(int round, int slot)
{
    return co_test_seed(root_of(slot), round * OUTSTANDING + slot, size_of(slot));
}

static void start_all(int round)
{
    for (int i = 0; i < OUTSTANDING; i++) {
        size_t bytes = size_of(i);
        memset(buffers[i], 0x5a, bytes + 1);
        if (co_test_rank() == root_of(i)) {
            co_test_pattern_fill(buffers[i], bytes, seed_of(round, i));
        }
        MPI_Ibcast(buffers[i], (int)bytes, MPI_BYTE, root_of(i), comms[i % 2], &requests[i]);
        co_test_expect(requests[i] != MPI_REQUEST_NULL, "request %d is null", i);
        for (int j = 0; j < i && bytes > 0; j++) {
            co_test_expect(requests[j] != requests[i], "requests %d and %d are the same", i, j);
        }
    }
}

static void check_all(int round)
{
    for (int i = 0; i < OUTSTANDING; i++) {
        size_t bytes = size_of(i);
        co_test_expect(requests[i] == MPI_REQUEST_NULL, "request %d kept after completion", i);
        co_test_received(buffers[i], bytes, seed_of(round, i), "round %d, operation %d", round, i);
        co_test_expect(buffers[i][bytes] == 0x5a, "round %d, operation %d wrote beyond its end", round, i);
    }
}

static void call_blocking(int round)
{
    static unsigned char buffer[30000];
    static unsigned char gathered[30000];
    for (int which = 0; which < 2; which++) {
        uint64_t seed = co_test_seed(which, -round, sizeof buffer);
        int sum = 0, one = 1;
        if (co_test_rank() == which) {
            co_test_pattern_fill(buffer, sizeof buffer, seed);
        }
        MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, which, comms[which]);
        co_test_received(buffer, sizeof buffer, seed, "broadcast while %d are pending", OUTSTANDING);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[which]);
        co_test_expect(sum == co_test_size(), "reduction while some are pending");
        MPI_Allgather(buffer, 3, MPI_BYTE, gathered, 3, MPI_BYTE, comms[which]);
        co_test_received(gathered, 3, seed, "allgather while %d are pending", OUTSTANDING);
    }
}

static void wait_all(int round)
{
    MPI_Status status = {.MPI_ERROR = -7};
    for (int i = 0; i < OUTSTANDING && round < 2; i++) {
        int slot = round == 0 ? OUTSTANDING - 1 - i : i;
        MPI_Wait(&requests[slot], &status);
        co_test_expect(status.MPI_ERROR == -7, "MPI_ERROR is written by a call for one request");
    }
    MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    for (int i = 0; i < OUTSTANDING; i++) {
        buffers[i] = malloc(size_of(i) + 1);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    for (int round = 0; round < 4; round++) {
        start_all(round);
        if (round == 3) {
            call_blocking(round);
        }
        wait_all(round);
        check_all(round);
    }
    for (int i = 0; i < OUTSTANDING; i++) {
        free(buffers[i]);
    }
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    return co_test_finish();
}
