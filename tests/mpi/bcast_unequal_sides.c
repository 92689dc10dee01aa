// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts between hosts whose root gives so few bytes that the table leaves them to native, where the others have
// room for so many that it does not, as with strings: a mistake of the program that works without castoff. Who waits
// follows the root. In between is what castoff carries and what it does not, nonblocking ones, roots that go on at
// once or wait for the others or are far ahead, and communicators whose first or only call it is.
// ranks: 3
// expect: the bytes of the root, and not one more
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_BCAST=auto
// report: "unequal_lengths" in calls["MPI_Bcast"]["declined"]
#include "oracle/verdict.h"

#include <string.h>

#ifndef AHEAD
#define AHEAD 200
#endif

enum { FEW = 100, ROOM = 3000, STEPS = 60 };

static unsigned char buffer[2 * ROOM];

// Members of one call say how much each, given or room.
static void broadcast(MPI_Comm comm, int root, int given, int room, int number)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    uint64_t seed = co_test_seed(root, number, (size_t)given);
    memset(buffer, 0xee, sizeof buffer);
    if (rank == root) {
        co_test_pattern_fill(buffer, (size_t)given, seed);
    }
    MPI_Bcast(buffer, rank == root ? given : room, MPI_BYTE, root, comm);
    co_test_received(buffer, (size_t)given, seed, "%d bytes of %d, broadcast %d", given, room, number);
    for (size_t i = (size_t)given; i < sizeof buffer; i++) {
        co_test_expect(buffer[i] == 0xee, "byte %zu of broadcast %d is another", i, number);
    }
}

static void begin(MPI_Comm comm, int root, int number, unsigned char *data, MPI_Request *request)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    memset(data, rank == root ? number : 0, ROOM);
    MPI_Ibcast(data, ROOM, MPI_BYTE, root, comm, request);
}

static void gather(MPI_Comm comm, int number)
{
    int rank, size, all[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int mine = number * size + rank;
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < size; i++) {
        co_test_expect(all[i] == number * size + i, "allgather %d: block %d is %d", number, i, all[i]);
    }
}

static void use(MPI_Comm comm, int steps)
{
    static unsigned char under_way[ROOM];
    int size;
    MPI_Comm_size(comm, &size);
    for (int step = 0; step < steps; step++) {
        int root = step / 5 % size;
        MPI_Request request = MPI_REQUEST_NULL;
        if (step % 4 == 1) {
            begin(comm, root, step + 1, under_way, &request);
        }
        broadcast(comm, root, FEW, ROOM, step);
        if (step % 3 == 0) {
            MPI_Barrier(comm);
        }
        if (step % 6 == 2 && co_test_rank() == 1) { // of nothing, which the others need not know
            MPI_Bcast(buffer, 0, MPI_BYTE, 0, comm);
        }
        broadcast(comm, (root + step) % size, step % 2 == 0 ? FEW : ROOM, step % 2 == 0 ? FEW : ROOM, step + 1000);
        if (step % 7 == 0) {
            gather(comm, step);
        }
        if (request != MPI_REQUEST_NULL) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            co_test_expect(under_way[0] == step + 1 && under_way[ROOM - 1] == step + 1, "nonblocking one, %d", step);
        }
    }
}

// The root is done with all of them before the others begin.
static void run_ahead(MPI_Comm comm, int calls)
{
    int rank, token = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank > 0) {
        MPI_Recv(&token, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    }
    for (int call = 0; call < calls; call++) {
        broadcast(comm, 0, FEW, ROOM, call);
        broadcast(comm, 0, 3 * FEW, 3 * FEW, call + calls);
    }
    int size;
    MPI_Comm_size(comm, &size);
    for (int to = 1; rank == 0 && to < size; to++) {
        MPI_Send(&token, 1, MPI_INT, to, 0, comm);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < 3; i++) { // the only call, and the root frees the communicator
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        broadcast(comm, i, FEW, ROOM, i);
        MPI_Comm_free(&comm);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm, 2 + i);
        MPI_Comm_free(&comm);
    }
    use(MPI_COMM_WORLD, STEPS);
    run_ahead(MPI_COMM_WORLD, AHEAD);
    broadcast(MPI_COMM_WORLD, 1, FEW, ROOM, 0); // its last call
    return co_test_finish();
}
