// SPDX-License-Identifier: BSD-3-Clause
// 64 Iallgathers outstanding on one communicator, of sizes from nothing to several chunks, waited for in
// reverse order; then again in order of start, by Waitall, and with a blocking broadcast and an
// allgather on the same communicator while all of them are pending.
// ranks: 2 3
// expect: every operation delivers its own bytes, no request is null or used twice
// taken: MPI_Iallgather MPI_Bcast
#include "oracle/verdict.h"

#include <stdlib.h>

#define OUTSTANDING 64
#define LARGEST 70000

static unsigned char *send[OUTSTANDING];
static unsigned char *receive[OUTSTANDING];
static MPI_Request requests[OUTSTANDING];

static size_t size_of(int slot)
{
    static const size_t sizes[] = {0, 1, 48, 49, 1000, 4097, 20000, LARGEST};
    return sizes[slot % 8];
}

static void start_all(int round)
{
    for (int i = 0; i < OUTSTANDING; i++) {
        size_t bytes = size_of(i);
        co_test_pattern_fill(send[i], bytes, co_test_seed(co_test_rank(), round * OUTSTANDING + i, bytes));
        MPI_Iallgather(send[i], (int)bytes, MPI_BYTE, receive[i], (int)bytes, MPI_BYTE, MPI_COMM_WORLD, &requests[i]);
        co_test_expect(requests[i] != MPI_REQUEST_NULL, "request %d is null", i);
        for (int j = 0; j < i; j++) {
            if (requests[j] == requests[i]) {
                co_test_expect(false, "requests %d and %d are the same", i, j);
            }
        }
    }
}

static void check_all(int round)
{
    for (int i = 0; i < OUTSTANDING; i++) {
        size_t bytes = size_of(i);
        for (int r = 0; r < co_test_size(); r++) {
            uint64_t seed = co_test_seed(r, round * OUTSTANDING + i, bytes);
            co_test_received(receive[i] + (size_t)r * bytes, bytes, seed, "round %d, operation %d, block %d", round, i,
                             r);
        }
    }
}

static void call_blocking(int round)
{
    static unsigned char buffer[30000];
    static unsigned char gathered[30000];
    uint64_t seed = co_test_seed(0, -round, sizeof buffer);
    if (co_test_rank() == 0) {
        co_test_pattern_fill(buffer, sizeof buffer, seed);
    }
    MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 0, MPI_COMM_WORLD);
    co_test_received(buffer, sizeof buffer, seed, "broadcast while %d are pending", OUTSTANDING);
    MPI_Allgather(buffer, 3, MPI_BYTE, gathered, 3, MPI_BYTE, MPI_COMM_WORLD);
    co_test_received(gathered, 3, seed, "allgather while %d are pending", OUTSTANDING);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < OUTSTANDING; i++) {
        send[i] = malloc(LARGEST);
        receive[i] = malloc((size_t)LARGEST * (size_t)co_test_size());
    }
    for (int round = 0; round < 4; round++) {
        start_all(round);
        if (round == 3) {
            call_blocking(round);
        }
        if (round == 0) {
            for (int i = OUTSTANDING - 1; i >= 0; i--) {
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            }
        } else if (round == 1) {
            for (int i = 0; i < OUTSTANDING; i++) {
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            }
        } else {
            MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < OUTSTANDING; i++) {
            co_test_expect(requests[i] == MPI_REQUEST_NULL, "request %d kept after completion", i);
        }
        check_all(round);
    }
    for (int i = 0; i < OUTSTANDING; i++) {
        free(send[i]);
        free(receive[i]);
    }
    return co_test_finish();
}
