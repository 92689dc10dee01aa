// SPDX-License-Identifier: BSD-3-Clause
// One rank has no memory for the packed copy of a buffer that does not lie in a row, in each of the three calls and as
// root and as leaf: it gets MPI_ERR_NO_MEM, those that need it an error, nobody waits, and other communicators go on.
// The others of a broadcast need no leaf: they may have their bytes, now and in the next call. The program's own
// malloc refuses the one size that only such a copy has.
// ranks: 3
// modes: on faults damage
// complaint: error: MPI_Bcast failed: Cannot allocate memory
// expect: errors on the communicator concerned
// taken: MPI_Bcast MPI_Allgather MPI_Iallgather
#include "oracle/verdict.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define BLOCKS 4801
#define PACKED ((size_t)BLOCKS * 3)
#define RANKS 3
#define HEAD 64 // more than what stands before a copy

// glibc's own, below any replacement.
void *__libc_malloc(size_t bytes);

static atomic_size_t refused; // a size, 0: none
static atomic_int refusals;

void *malloc(size_t bytes)
{
    size_t least = atomic_load(&refused);
    if (least != 0 && bytes >= least && bytes < least + HEAD) {
        atomic_fetch_add(&refusals, 1);
        return NULL;
    }
    return __libc_malloc(bytes);
}

static unsigned char spread[BLOCKS * 5];
static unsigned char gathered[RANKS * BLOCKS * 5];
static MPI_Datatype gaps; // three bytes of five

static MPI_Comm fresh(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static int broadcast(MPI_Comm comm, int root)
{
    return MPI_Bcast(spread, 1, gaps, root, comm);
}

static int allgather(MPI_Comm comm, int unused)
{
    (void)unused;
    return MPI_Allgather(spread, 1, gaps, gathered, 1, gaps, comm);
}

static int iallgather(MPI_Comm comm, int unused)
{
    (void)unused;
    MPI_Request request;
    int code = MPI_Iallgather(spread, 1, gaps, gathered, 1, gaps, comm, &request);
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

// Rank `victim` cannot allocate `bytes` in the first of two calls.
static void starve(const char *what, int (*call)(MPI_Comm comm, int root), int root, int victim, size_t bytes)
{
    MPI_Comm comm = fresh();
    bool is_victim = co_test_rank() == victim, needs_victim = call != broadcast || root == victim;
    atomic_store(&refusals, 0);
    atomic_store(&refused, is_victim ? bytes : 0);
    int code = call(comm, root);
    atomic_store(&refused, 0);
    if (is_victim) {
        co_test_expect(atomic_load(&refusals) == 1, "%s: %d allocations refused", what, atomic_load(&refusals));
        co_test_expect(class_of(code) == MPI_ERR_NO_MEM, "%s: class %d at the victim", what, class_of(code));
    } else if (needs_victim) {
        co_test_expect(code != MPI_SUCCESS, "%s: no error without rank %d", what, victim);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int again = call(comm, root);
    co_test_expect(again != MPI_SUCCESS || (code == MPI_SUCCESS && !needs_victim), "%s: a broken communicator worked",
                   what);
    MPI_Comm_free(&comm);
    int value = co_test_rank() == 0 ? 4711 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    co_test_expect(value == 4711, "%s: other communicators", what);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Type_vector(BLOCKS, 3, 5, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Type_create_resized(gaps, 0, BLOCKS * 5, &gaps);
    MPI_Type_commit(&gaps);
    for (int victim = 0; victim < RANKS; victim++) {
        starve("bcast", broadcast, 0, victim, PACKED);
        starve("allgather", allgather, 0, victim, PACKED * RANKS);
        starve("iallgather", iallgather, 0, victim, PACKED * RANKS);
    }
    MPI_Type_free(&gaps);
    return co_test_finish();
}
