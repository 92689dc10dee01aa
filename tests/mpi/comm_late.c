// SPDX-License-Identifier: BSD-3-Clause
// Communicators between hosts: two thousand (1700 on MPICH) that carry nothing take a few words each, whoever their
// members are. Two hundred fresh ones are used by one rank first: the others are in a native call meanwhile, where the
// broadcasts come to them, and miss nothing, so that nobody has to send a byte again.
// ranks: 4
// modes: native off on
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo
// expect: right bytes; a few words for each idle communicator; no repair
// taken: MPI_Bcast
// report: nodes == 4 and 0 < counters["communicator_idle_bytes"] <= 204
// report: counters["communicators_opened_by_others"] > 0
// report: counters["retransmitted_bytes"] == 0 and counters["dropped_no_memory"] == 0
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#define IDLE 2000
#else
#define IDLE 1700 // MPICH has numbers for 2048 communicators, and fails whoever asks for more
#endif
#define FRESH 200
#define BYTES 3000

static MPI_Comm idle[IDLE], fresh[FRESH];
static unsigned char block[BYTES];

static void broadcast(int index)
{
    uint64_t seed = co_test_seed(0, index, BYTES);
    if (co_test_rank() == 0) {
        co_test_pattern_fill(block, BYTES, seed);
    }
    MPI_Bcast(block, BYTES, MPI_BYTE, 0, fresh[index]);
    co_test_received(block, BYTES, seed, "broadcast on communicator %d", index);
}

// Duplicates, pairs, all in reverse, and three of four: ranks by equal steps, up and down, and not.
static void make_idle(int index)
{
    int rank = co_test_rank();
    switch (index % 4) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &idle[index]);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &idle[index]);
        break;
    case 2:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &idle[index]);
        break;
    default:
        MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &idle[index]); // rank 1 alone is not even followed
    }
}

int main(int argc, char **argv)
{
    int token = 1;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < IDLE; i++) {
        make_idle(i);
    }
    for (int i = 0; i < FRESH; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &fresh[i]);
    }
    if (co_test_rank() != 0) {
        MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < FRESH; i++) {
        broadcast(i);
    }
    for (int r = 1; co_test_rank() == 0 && r < co_test_size(); r++) {
        MPI_Send(&token, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
    }
    for (int i = 0; i < FRESH; i++) {
        MPI_Comm_free(&fresh[i * 7 % FRESH]);
    }
    for (int i = 0; i < IDLE; i++) {
        MPI_Comm_free(&idle[i * 7 % IDLE]);
    }
    return co_test_finish();
}
