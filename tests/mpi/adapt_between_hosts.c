// SPDX-License-Identifier: BSD-3-Clause
// Trials between hosts, as they are by default: of long blocking allgathers alone, on the world and on communicators
// that live shortly. Broadcasts, short allgathers and those that do not block stay where the table has them. Whatever
// side a call goes, all bytes are right; whether the path is fast enough for a trial is the business of the machine.
// ranks: 3 4
// expect: the same bytes whatever is tried
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_ALLGATHER=auto CASTOFF_ADAPT=auto
// report: counters["adapt_exchanges"] > 0
// report: counters["adapt_ended"] == 0
// report: all(t["call"] == "MPI_Allgather" and t["bytes"] * t["ranks"] >= 65536 for t in trials)
// report: "found_slower_here" not in calls["MPI_Bcast"]["declined"]
// report: "found_slower_here" not in calls["MPI_Iallgather"]["declined"]
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 120000
#define CALLS 200

static const int sizes[] = {500, 30000, LARGEST};

#define SIZES ((int)(sizeof sizes / sizeof *sizes))

static unsigned char *mine, *all;

static void gather(MPI_Comm comm, int bytes, int number)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    co_test_pattern_fill(mine, (size_t)bytes, co_test_seed(rank, number, (size_t)bytes));
    memset(all, 0xee, (size_t)bytes * (size_t)size);
    if (number % 5 == 4) {
        MPI_Request request;
        MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
    }
    for (int r = 0; r < size; r++) {
        co_test_received(all + (size_t)r * (size_t)bytes, (size_t)bytes, co_test_seed(r, number, (size_t)bytes),
                         "allgather %d of %d bytes, block %d", number, bytes, r);
    }
}

static void broadcast(MPI_Comm comm, int bytes, int number)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    uint64_t seed = co_test_seed(number % size, -number, (size_t)bytes);
    memset(mine, 0xee, (size_t)bytes);
    if (rank == number % size) {
        co_test_pattern_fill(mine, (size_t)bytes, seed);
    }
    MPI_Bcast(mine, bytes, MPI_BYTE, number % size, comm);
    co_test_received(mine, (size_t)bytes, seed, "broadcast %d of %d bytes", number, bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = malloc(LARGEST);
    all = malloc((size_t)LARGEST * (size_t)size);
    for (int number = 0; number < CALLS; number++) {
        gather(MPI_COMM_WORLD, sizes[number % SIZES], number);
        if (number % 4 == 0) {
            broadcast(MPI_COMM_WORLD, sizes[number / 4 % SIZES], number);
        }
        if (number % 50 == 0) {
            MPI_Comm other;
            MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
            for (int i = 0; i < 8; i++) {
                gather(other, LARGEST, i);
            }
            MPI_Comm_free(&other);
        }
    }
    free(mine);
    free(all);
    return co_test_finish();
}
