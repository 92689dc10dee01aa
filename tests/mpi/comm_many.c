// SPDX-License-Identifier: BSD-3-Clause
// Hundreds of communicators alive at once, each in use, with an Iallgather pending on every one of them
// at the same time; then freed in another order than they were made.
// ranks: 2 3
// expect: right bytes on each of them
// taken: MPI_Bcast MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>

#define COMMUNICATORS 300
#define INTS 50

static MPI_Comm comms[COMMUNICATORS];
static MPI_Request requests[COMMUNICATORS];
static int values[COMMUNICATORS][INTS];
static int gathered[COMMUNICATORS][INTS * 3];

static void broadcast(int index)
{
    int data[INTS] = {0};
    int root = index % co_test_size();
    uint64_t seed = co_test_seed(root, index, sizeof data);
    if (co_test_rank() == root) {
        co_test_pattern_fill(data, sizeof data, seed);
    }
    MPI_Bcast(data, INTS, MPI_INT, root, comms[index]);
    co_test_received(data, sizeof data, seed, "broadcast on communicator %d", index);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    size_t bytes = sizeof values[0];
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm_dup(i % 3 == 2 ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]);
        broadcast(i);
    }
    for (int i = 0; i < COMMUNICATORS; i++) {
        co_test_pattern_fill(values[i], bytes, co_test_seed(co_test_rank(), -i, bytes));
        MPI_Iallgather(values[i], INTS, MPI_INT, gathered[i], INTS, MPI_INT, comms[i], &requests[i]);
    }
    for (int i = COMMUNICATORS - 1; i >= 0; i--) {
        broadcast(i);
    }
    MPI_Waitall(COMMUNICATORS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COMMUNICATORS; i++) {
        for (int r = 0; r < co_test_size(); r++) {
            co_test_received(gathered[i] + r * INTS, bytes, co_test_seed(r, -i, bytes), "communicator %d, block %d", i,
                             r);
        }
    }
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm_free(&comms[i * 7 % COMMUNICATORS]);
    }
    return co_test_finish();
}
