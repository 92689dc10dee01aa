// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking and persistent broadcasts of derived datatypes: gaps, negative displacements, reversed order, resized
// extents, structs, interleaved instances, absolute addresses with MPI_BOTTOM. The same type on all ranks and another
// one of the same signature on each; those of nonblocking ones are freed before the end. Several are outstanding at a
// time.
// ranks: 2 3
// mpirun: --mca coll basic,self,libnbc
// expect: the right ints in the right places, no gap written
// taken: MPI_Ibcast MPIX_Bcast_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdio.h>

#include "oracle/layout.h"

#define ROW 6
#define STARTS 2

struct broadcast {
    struct co_layout layout;
    int instances, root;
    uint64_t seed;
};

static int operation;

// The program's type is gone; co_layout_destroy frees another one.
static void free_type(struct co_layout *layout)
{
    MPI_Datatype used = layout->type;
    MPI_Type_dup(MPI_INT, &layout->type);
    MPI_Type_free(&used);
}

static void prepare(struct broadcast *broadcast, int kind, int instances)
{
    operation++;
    broadcast->instances = kind == CO_LAYOUT_ABSOLUTE ? 1 : instances;
    broadcast->root = operation % co_test_size();
    co_layout_create(&broadcast->layout, (enum co_layout_kind)kind, broadcast->instances);
}

static void fill(struct broadcast *broadcast, int start)
{
    broadcast->seed = co_test_seed(broadcast->root, operation + 1000 * start, (size_t)broadcast->instances);
    if (co_test_rank() == broadcast->root) {
        co_layout_write(&broadcast->layout, 0, broadcast->instances, broadcast->seed);
    }
}

static void check(struct broadcast *broadcast, const char *way)
{
    char what[96];
    snprintf(what, sizeof what, "%s, layout %d, %d instances, root %d", way, (int)broadcast->layout.kind,
             broadcast->instances, broadcast->root);
    co_layout_check(&broadcast->layout, 0, broadcast->instances, broadcast->seed, what);
    co_layout_check_gaps(&broadcast->layout, what);
}

static int kind_of(int shift, bool is_same, int instances)
{
    int kinds = instances == 1 ? CO_LAYOUT_KINDS : CO_LAYOUT_ABSOLUTE;
    return (shift + (is_same ? 0 : 3 * co_test_rank())) % kinds;
}

static void run_nonblocking(int shift, bool is_same, int instances)
{
    struct broadcast broadcasts[ROW];
    MPI_Request requests[ROW];
    for (int i = 0; i < ROW; i++) {
        struct broadcast *broadcast = &broadcasts[i];
        prepare(broadcast, kind_of(shift + i, is_same, instances), instances);
        fill(broadcast, 0);
        MPI_Ibcast(broadcast->layout.address, broadcast->layout.count, broadcast->layout.type, broadcast->root,
                   MPI_COMM_WORLD, &requests[i]);
        free_type(&broadcast->layout);
    }
    MPI_Waitall(ROW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < ROW; i++) {
        check(&broadcasts[i], "nonblocking");
        co_layout_destroy(&broadcasts[i].layout);
    }
}

// Open MPI 4.1.4 uses a type after its end, so it is kept as long as its request.
static void run_persistent(int shift, bool is_same, int instances)
{
    struct broadcast broadcasts[ROW];
    MPI_Request requests[ROW];
    for (int i = 0; i < ROW; i++) {
        struct broadcast *broadcast = &broadcasts[i];
        prepare(broadcast, kind_of(shift + i, is_same, instances), instances);
        MPIX_Bcast_init(broadcast->layout.address, broadcast->layout.count, broadcast->layout.type, broadcast->root,
                        MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    }
    for (int start = 0; start < STARTS; start++) {
        for (int i = 0; i < ROW; i++) {
            fill(&broadcasts[i], start);
        }
        MPI_Startall(ROW, requests);
        MPI_Waitall(ROW, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < ROW; i++) {
            check(&broadcasts[i], "persistent");
        }
    }
    for (int i = 0; i < ROW; i++) {
        MPI_Request_free(&requests[i]);
        co_layout_destroy(&broadcasts[i].layout);
    }
}

int main(int argc, char **argv)
{
    static const int instances[] = {1, 2, 85, 3001};
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < 4; i++) {
        for (int shift = 0; shift < CO_LAYOUT_KINDS; shift += 3) {
            run_nonblocking(shift, true, instances[i]);
            run_nonblocking(shift, false, instances[i]);
            run_persistent(shift, false, instances[i]);
        }
    }
    return co_test_finish();
}
