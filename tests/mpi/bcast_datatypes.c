// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts of derived datatypes: gaps, negative displacements, reversed order, resized extents,
// structs, interleaved instances, absolute addresses with MPI_BOTTOM. First the same type on all
// ranks, then a different one of equal signature on each. Stock's tuned algorithms cut messages by
// the local count and hang or truncate on the second half, hence the choice of components.
// ranks: 2 3
// mpirun: --mca coll basic,self,libnbc
// expect: the right ints in the right places, no gap written
// taken: MPI_Bcast
#include "oracle/verdict.h"

#include "oracle/layout.h"

#include <stdio.h>

static int operation;

static void broadcast(enum co_layout_kind kind, int instances, int root)
{
    struct co_layout layout;
    char what[96];
    operation++;
    snprintf(what, sizeof what, "operation %d, %d instances, root %d", operation, instances, root);
    co_layout_create(&layout, kind, instances);
    uint64_t seed = co_test_seed(root, operation, (size_t)instances);
    if (co_test_rank() == root) {
        co_layout_write(&layout, 0, instances, seed);
    }
    int error = MPI_Bcast(layout.address, layout.count, layout.type, root, MPI_COMM_WORLD);
    co_test_expect(error == MPI_SUCCESS, "%s: error %d", what, error);
    co_layout_check(&layout, 0, instances, seed, what);
    co_layout_check_gaps(&layout, what);
    co_layout_destroy(&layout);
}

static void broadcast_zero_size(int root)
{
    MPI_Datatype empty;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    int guard = 77;
    MPI_Bcast(&guard, 5, empty, root, MPI_COMM_WORLD);
    co_test_expect(guard == 77, "a type of no size wrote");
    MPI_Type_free(&empty);
    MPI_Type_vector(3, 0, 2, MPI_DOUBLE, &empty);
    MPI_Type_commit(&empty);
    MPI_Bcast(NULL, 1000, empty, root, MPI_COMM_WORLD);
    MPI_Type_free(&empty);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    static const int instances[] = {1, 2, 85, 3001};
    for (int kind = 0; kind < CO_LAYOUT_KINDS; kind++) {
        int largest = kind == CO_LAYOUT_ABSOLUTE ? 1 : 4;
        for (int i = 0; i < largest; i++) {
            broadcast((enum co_layout_kind)kind, instances[i], kind % co_test_size());
        }
    }
    for (int shift = 0; shift < CO_LAYOUT_KINDS; shift++) {
        int kind = (co_test_rank() * 3 + shift) % CO_LAYOUT_KINDS;
        broadcast((enum co_layout_kind)kind, 1, shift % co_test_size());
        kind = (co_test_rank() * 3 + shift) % CO_LAYOUT_ABSOLUTE;
        broadcast((enum co_layout_kind)kind, 7, shift % co_test_size());
        broadcast((enum co_layout_kind)kind, 4099, shift % co_test_size());
        broadcast_zero_size(shift % co_test_size());
    }
    return co_test_finish();
}
