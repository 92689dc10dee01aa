// SPDX-License-Identifier: BSD-3-Clause
// One rank of a node has no memory when a persistent collective, or a communicator, is made, more often than the node
// has seats for teams: the others, who could take theirs, leave them again, so that there is room for what all can
// make. The program's own calloc refuses the first thing that castoff needs for a team, which is two ints.
// ranks: 3
// mpirun: --mca coll basic,self,libnbc
// modes: on
// environment: CASTOFF_SHM_TEAM=16K
// expect: what comes afterwards is castoff's on all ranks, with the right ints
// taken: MPIX_Allgather_init MPI_Bcast
// report: calls["MPIX_Allgather_init"]["taken"] == 2 * ranks
// report: calls["MPIX_Bcast_init"]["declined"]["no_memory_at_creation"] == 4200 * ranks
// report: calls["MPI_Bcast"]["taken"] == 4201 * ranks
#include "oracle/planned.h"
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>

#define MANY 4200
#define VICTIM 1

// glibc's own, below any replacement.
void *__libc_calloc(size_t count, size_t bytes);

static _Thread_local int refusals_due;

void *calloc(size_t count, size_t bytes)
{
    if (refusals_due > 0 && count == 2 && bytes == sizeof(int)) {
        refusals_due--;
        return NULL;
    }
    return __libc_calloc(count, bytes);
}

static void begin_want(void)
{
    refusals_due = co_test_rank() == VICTIM;
}

static void end_want(const char *what)
{
    co_test_expect(refusals_due == 0, "%s: nothing was refused", what);
    refusals_due = 0;
}

// Native's on all ranks.
static void make_request(int number)
{
    int value = co_test_rank() == 0 ? number : -1;
    MPI_Request request;
    begin_want();
    MPIX_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    end_want("MPIX_Bcast_init");
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_test_expect(value == number, "request %d gave %d", number, value);
    MPI_Request_free(&request);
}

// Among its members one has nothing of it; the world is as it was.
static void make_communicator(int number)
{
    int value = co_test_rank() == 0 ? number : -1;
    MPI_Comm comm;
    begin_want();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    end_want("MPI_Comm_dup");
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    co_test_expect(value == number, "communicator %d gave %d", number, value);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < MANY; i++) {
        make_request(i);
        make_communicator(i);
    }
    struct co_planned planned = {.kind = CO_PLANNED_ALLGATHER, .ints = 100};
    MPI_Comm comm;
    int value = co_test_rank();
    co_planned_make(&planned, MPI_COMM_WORLD);
    for (int start = 0; start < 2; start++) {
        co_planned_fill(&planned);
        MPI_Start(&planned.request);
        MPI_Wait(&planned.request, MPI_STATUS_IGNORE);
        co_planned_check(&planned);
    }
    co_planned_free(&planned);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Bcast(&value, 1, MPI_INT, 2, comm);
    co_test_expect(value == 2, "the last communicator");
    MPI_Comm_free(&comm);
    return co_test_finish();
}
