// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts of many sizes between hosts, decided in the job by default: at barriers and allreduces their members try
// them both ways, on the world, on halves of it and on communicators that live shortly, in loops and one by one, with
// nonblocking ones under way. Whatever side a call goes, all bytes are right, and barriers and allreduces do what they
// do. On a busy machine there may be no time for a trial.
// ranks: 3 4
// expect: the same bytes whatever is tried
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_BCAST=auto CASTOFF_ADAPT=auto
// report: counters["adapt_exchanges"] > 0
// report: counters["adapt_ended"] == 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 120000

static const int sizes[] = {1, 300, 5000, 40000, LARGEST};

#define SIZES ((int)(sizeof sizes / sizeof *sizes))

static unsigned char *buffer, *other;

static void broadcast(MPI_Comm comm, int bytes, int number)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int root = number % size;
    uint64_t seed = co_test_seed(root, number, (size_t)bytes);
    memset(buffer, 0xee, (size_t)bytes);
    if (rank == root) {
        co_test_pattern_fill(buffer, (size_t)bytes, seed);
    }
    MPI_Bcast(buffer, bytes, MPI_BYTE, root, comm);
    co_test_received(buffer, (size_t)bytes, seed, "broadcast %d of %d bytes", number, bytes);
}

// By either form where the library has both: members of one call need not agree about that.
static void allreduce(const int *number, int *sum, MPI_Comm comm)
{
#if MPI_VERSION >= 4
    if (co_test_rank() % 2 == 1) {
        MPI_Allreduce_c(number, sum, 1, MPI_INT, MPI_SUM, comm);
        return;
    }
#endif
    MPI_Allreduce(number, sum, 1, MPI_INT, MPI_SUM, comm);
}

static void meet(MPI_Comm comm, int number)
{
    int size, sum = 0;
    MPI_Comm_size(comm, &size);
    if (number % 2 == 0) {
        MPI_Barrier(comm);
    } else {
        allreduce(&number, &sum, comm);
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
        broadcast(comm, bytes, number);
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
    free(buffer);
    free(other);
    return co_test_finish();
}
