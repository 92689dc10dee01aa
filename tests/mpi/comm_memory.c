// SPDX-License-Identifier: BSD-3-Clause
// What communicators cost, by the library's report: hundreds that never carry a collective take an id and an entry
// each, and all that a node spends on one that carries payloads of every path, small and large, from every root, keeps
// within CASTOFF_SHM_TEAM: shared memory and the ranks' own. Between hosts it is a few words more to begin with.
// ranks: 2 3 4 8
// expect: right bytes; the report's figures are within what is promised
// taken: MPI_Bcast MPI_Allgather
// report: 0 < counters["communicator_idle_bytes"] < (128 if nodes == 1 else 201)
// report: counters["communicator_idle_bytes"] + counters["communicator_high_water_bytes"] <= 960 or nodes > 1
// report: 40000 < counters["communicator_shared_high_water_bytes"] + 960 * ranks <= 65536 or nodes > 1
// report: counters["shared_memory_lent_high_water_bytes"] <= 8 << 20
// report: counters["shared_memory_fixed_bytes"] <= 256 << 10
#include "oracle/verdict.h"

#include <stdlib.h>

#define IDLE 300
#define MOST 70000

static MPI_Comm idle[IDLE];
static unsigned char block[MOST], *all;

static void broadcast(MPI_Comm comm, int root, size_t bytes)
{
    uint64_t seed = co_test_seed(root, (int)bytes, bytes);
    if (co_test_rank() == root) {
        co_test_pattern_fill(block, bytes, seed);
    }
    MPI_Bcast(block, (int)bytes, MPI_BYTE, root, comm);
    co_test_received(block, bytes, seed, "broadcast of %zu bytes from %d", bytes, root);
}

static void gather(MPI_Comm comm, size_t bytes)
{
    co_test_pattern_fill(block, bytes, co_test_seed(co_test_rank(), -(int)bytes, bytes));
    MPI_Allgather(block, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(all + (size_t)r * bytes, bytes, co_test_seed(r, -(int)bytes, bytes), "block %d of %zu", r,
                         bytes);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 120, 600, 700, 5000, MOST};
    MPI_Init(&argc, &argv);
    co_test_begin();
    all = malloc((size_t)co_test_size() * MOST);
    for (int i = 0; i < IDLE; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &idle[i]);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int root = 0; root < co_test_size(); root++) {
            broadcast(idle[7], root, sizes[i]);
        }
        gather(idle[7], sizes[i]);
    }
    for (int i = 0; i < IDLE; i++) {
        MPI_Comm_free(&idle[i]);
    }
    free(all);
    return co_test_finish();
}
