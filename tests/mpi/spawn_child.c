// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn of two children from a preloaded job. The children (which inherit the preload) use the
// calls on their own world; parents and children use them on the intercommunicator and on its merge.
// ranks: 2
// mpirun: --mca mpi_yield_when_idle 1
// expect: right bytes in parents, children and across
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHILDREN 2

static void broadcast_all(MPI_Comm comm, int operation, const char *where)
{
    static unsigned char buffer[30000];
    int rank;
    int size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int root = 0; root < size; root++) {
        uint64_t seed = co_test_seed(root, operation, sizeof buffer);
        if (rank == root) {
            co_test_pattern_fill(buffer, sizeof buffer, seed);
        }
        MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, root, comm);
        co_test_received(buffer, sizeof buffer, seed, "%s: broadcast from %d of %d", where, root, size);
    }
    int all[8] = {0};
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++) {
        co_test_expect(all[r] == r, "%s: block %d is %d", where, r, all[r]);
    }
}

static void use_both_sides(MPI_Comm inter, bool is_child)
{
    MPI_Comm merged;
    int value = is_child ? 0 : 321;
    int root = is_child ? 0 : co_test_rank() == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&value, 1, MPI_INT, root, inter);
    co_test_expect(value == 321, "broadcast to the children: %d", value);
    MPI_Intercomm_merge(inter, is_child, &merged);
    broadcast_all(merged, 3, "merged");
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        // The children print nothing: whose line comes first is a matter of chance.
        broadcast_all(MPI_COMM_WORLD, 2, "children");
        use_both_sides(parent, true);
        fclose(stdout);
        return co_test_finish();
    }
    MPI_Comm inter;
    int errors[CHILDREN];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, errors);
    if (error != MPI_SUCCESS) {
        return co_test_skip("MPI_Comm_spawn does not work here");
    }
    broadcast_all(MPI_COMM_WORLD, 1, "parents");
    use_both_sides(inter, false);
    broadcast_all(MPI_COMM_WORLD, 4, "parents again");
    return co_test_finish();
}
