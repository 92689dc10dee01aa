// SPDX-License-Identifier: BSD-3-Clause
// A root that sends a message behind each small broadcast, and members that receive it before they call the broadcast:
// a program must not rely on that, but with the MPI below it works, and sides that are tried must not make it hang. The
// root waits for the others' words only so long, less and less often, and trials come to their end where they can: at
// the broadcasts that all call at once.
// ranks: 2 3
// expect: the same bytes, and no wait without end
// environment: CASTOFF_BCAST=auto CASTOFF_IBCAST=auto CASTOFF_ALLGATHER=auto CASTOFF_IALLGATHER=auto CASTOFF_ADAPT=yes
// modes: native off on
// report: counters["adapt_passed"] > 0
// report: counters["adapt_ended"] == 0
#include "oracle/verdict.h"

#include <string.h>

enum { CALLS = 200, LARGEST = 512 };

static void broadcast(MPI_Comm comm, int bytes, int number, int comes_late)
{
    static unsigned char buffer[LARGEST];
    uint64_t seed = co_test_seed(0, number, (size_t)bytes);
    int token = number, rank = co_test_rank();
    memset(buffer, 0xee, sizeof buffer);
    if (rank == 0) {
        co_test_pattern_fill(buffer, (size_t)bytes, seed);
    } else if (comes_late) {
        MPI_Recv(&token, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(buffer, bytes, MPI_BYTE, 0, comm);
    for (int to = 1; rank == 0 && comes_late && to < co_test_size(); to++) {
        MPI_Send(&token, 1, MPI_INT, to, 1, comm);
    }
    co_test_received(buffer, (size_t)bytes, seed, "broadcast %d of %d bytes", number, bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const int sizes[] = {8, 100, LARGEST};
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int number = 0; number < CALLS; number++) {
            broadcast(comm, sizes[i], number, 1);
        }
        for (int number = 0; number < CALLS; number++) {
            broadcast(comm, sizes[i], number, number % 3 == 0);
        }
        MPI_Comm_free(&comm);
    }
    return co_test_finish();
}
