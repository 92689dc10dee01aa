// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts of many sizes between hosts, decided in the job by default: at barriers and allreduces their members try
// them both ways, on the world, on halves of it and on communicators that live shortly, in loops and one by one, with
// nonblocking ones under way. Whatever side a call goes, all bytes are right, and barriers and allreduces do what they
// do. The sizes on one communicator differ between its members: there trials end. On a busy machine there may be none.
// ranks: 3 4
// expect: the same bytes whatever is tried
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_BCAST=auto CASTOFF_ADAPT=auto
// report: counters["adapt_exchanges"] > 0
// report: counters["adapt_ended"] in (0, ranks)
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 120000

static const int sizes[] = {1, 300, 5000, 40000, LARGEST};

#define SIZES ((int)(sizeof sizes / sizeof *sizes))

static unsigned char *buffer, *other;

static void broadcast(MPI_Comm comm, int given, int room, int number)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int root = number % size, bytes = rank == root ? given : room;
    uint64_t seed = co_test_seed(root, number, (size_t)given);
    memset(buffer, 0xee, (size_t)bytes);
    if (rank == root) {
        co_test_pattern_fill(buffer, (size_t)given, seed);
    }
    MPI_Bcast(buffer, bytes, MPI_BYTE, root, comm);
    co_test_received(buffer, (size_t)given, seed, "broadcast %d of %d bytes", number, given);
}

static void meet(MPI_Comm comm, int number)
{
    int size, sum = 0;
    MPI_Comm_size(comm, &size);
    if (number % 2 == 0) {
        MPI_Barrier(comm);
    } else {
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
        co_test_expect(sum == size * number, "the sum of %d numbers %d is %d", size, number, sum);
    }
}

static void use(MPI_Comm comm, int calls, int loop)
{
    MPI_Request request;
    for (int number = 0; number < calls; number++) {
        int bytes = sizes[number / (2 * loop) % SIZES];
        int is_between = number % 11 == 3 && number % loop == loop - 1, rank, size;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        uint64_t seed = co_test_seed(0, -number - 1, 2000);
        if (is_between) { // under way while the members meet
            memset(other, 0xee, 2000);
            if (rank == 0) {
                co_test_pattern_fill(other, 2000, seed);
            }
            MPI_Ibcast(other, 2000, MPI_BYTE, 0, comm, &request);
        }
        broadcast(comm, bytes, bytes, number);
        if (number % loop == loop - 1) {
            meet(comm, number / loop);
        }
        if (is_between) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            co_test_received(other, 2000, seed, "broadcast under way, %d", number);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    co_test_begin();
    buffer = malloc(LARGEST);
    other = malloc(LARGEST);
    use(MPI_COMM_WORLD, 400, 1);
    use(MPI_COMM_WORLD, 400, 10);
    MPI_Comm_split(MPI_COMM_WORLD, co_test_rank() % 2, 0, &comm);
    use(comm, 200, 4);
    MPI_Comm_free(&comm);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm, 100, 2);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int number = 0; number < 100; number++) {
        broadcast(comm, 1000, number % 3 == 0 ? 3000 : 1000, number); // a mistake that MPI libraries live with
        meet(comm, number);
    }
    MPI_Comm_free(&comm);
    free(buffer);
    free(other);
    return co_test_finish();
}
