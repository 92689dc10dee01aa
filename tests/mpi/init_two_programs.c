// SPDX-License-Identifier: BSD-3-Clause
// A job of two application contexts (mpirun ... : ...), which the library leaves to native MPI unless it is
// told otherwise. Collectives over all ranks and inside each program must work.
// ranks: 2
// programs: 2
// complaint: once: runs on native MPI: it has 2 programs
// expect: right bytes
#include "oracle/verdict.h"

#include <stdlib.h>

static void broadcast(MPI_Comm comm, int operation)
{
    static unsigned char buffer[30000];
    int size;
    int rank;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int root = 0; root < size; root++) {
        uint64_t seed = co_test_seed(root, operation, sizeof buffer);
        if (rank == root) {
            co_test_pattern_fill(buffer, sizeof buffer, seed);
        }
        MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, root, comm);
        co_test_received(buffer, sizeof buffer, seed, "communicator of %d, broadcast from %d", size, root);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int *application = NULL;
    int set = 0;
    MPI_Comm own;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &application, &set);
    co_test_say("application %d\n", set ? *application : -1);
    MPI_Comm_split(MPI_COMM_WORLD, set ? *application : 0, 0, &own);
    broadcast(MPI_COMM_WORLD, 1);
    broadcast(own, 2);
    MPI_Comm_free(&own);
    return co_test_finish();
}
