// SPDX-License-Identifier: BSD-3-Clause
// One rank has no memory for a start of a persistent collective: it gets MPI_ERR_NO_MEM and keeps its request,
// inactive, whose later starts fail, too; the others, who need it, get an error when they complete theirs; nobody
// waits. Each has a team of its own, so the communicator and its other persistent collectives go on. The report counts
// such a start as its call site does: taken, and failed. It is the first one: later ones need no more memory. The
// program's own malloc refuses.
// ranks: 3
// mpirun: --mca coll basic,self,libnbc
// modes: on faults damage
// environment: CASTOFF_REPORT_SITES=yes
// complaint: error: MPI_Start failed: Cannot allocate memory
// expect: errors of the one that failed alone
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
// report: calls["MPIX_Bcast_init"]["failed"] == 4 * ranks
// report: sum(s["calls"] for s in sites if "t_init" in s["call"]) == calls["MPIX_Bcast_init"]["taken"]
// report: sum(s["calls"] for s in sites if "r_init" in s["call"]) == calls["MPIX_Allgather_init"]["taken"]
#include "oracle/planned.h"
#include "oracle/verdict.h"

#include <stdlib.h>

// glibc's own, below any replacement.
void *__libc_malloc(size_t bytes);

static _Thread_local int refusals_due;

void *malloc(size_t bytes)
{
    if (refusals_due > 0) {
        refusals_due--;
        return NULL;
    }
    return __libc_malloc(bytes);
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static void start_well(struct co_planned *planned)
{
    co_planned_fill(planned);
    co_test_expect(MPI_Start(&planned->request) == MPI_SUCCESS, "a start");
    co_test_expect(MPI_Wait(&planned->request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "its end");
    co_planned_check(planned);
}

static void fail_at(struct co_planned *planned, bool is_victim)
{
    co_planned_fill(planned);
    refusals_due = is_victim;
    int code = MPI_Start(&planned->request);
    co_test_expect(refusals_due == 0, "nothing was refused");
    refusals_due = 0;
    if (!is_victim) {
        co_test_expect(code == MPI_SUCCESS, "a start without the victim: %d", code);
        co_test_expect(MPI_Wait(&planned->request, MPI_STATUS_IGNORE) != MPI_SUCCESS, "an end without the victim");
        return;
    }
    co_test_expect(class_of(code) == MPI_ERR_NO_MEM, "class %d at the victim", class_of(code));
    co_test_expect(planned->request != MPI_REQUEST_NULL, "the victim's request is gone");
    int flag = 0;
    MPI_Test(&planned->request, &flag, MPI_STATUS_IGNORE);
    co_test_expect(flag == 1, "the victim's request is not inactive");
    code = MPI_Start(&planned->request);
    co_test_expect(code != MPI_SUCCESS || MPI_Wait(&planned->request, MPI_STATUS_IGNORE) != MPI_SUCCESS,
                   "a later start of what has failed");
}

static void run(MPI_Comm comm, enum co_planned_kind kind, int victim)
{
    struct co_planned failing = {.kind = kind, .number = victim, .ints = 500};
    struct co_planned other = {.kind = kind, .number = victim + 3, .ints = 700, .is_gap = true};
    int value = co_test_rank() == 0 ? 4711 : 0;
    co_planned_make(&failing, comm);
    co_planned_make(&other, comm);
    start_well(&other);
    MPI_Barrier(MPI_COMM_WORLD);                 // what is under way when the team ends has an error, too
    fail_at(&failing, co_test_rank() == victim); // of a broadcast the root
    MPI_Barrier(MPI_COMM_WORLD);
    start_well(&other);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    co_test_expect(value == 4711, "the communicator");
    co_planned_free(&other);
    if (failing.request != MPI_REQUEST_NULL) {
        MPI_Request_free(&failing.request);
    }
    free(failing.send);
    free(failing.receive);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int victim = 0; victim < co_test_size(); victim++) {
        for (int kind = 0; kind < CO_PLANNED_KINDS; kind++) {
            run(comm, (enum co_planned_kind)kind, victim);
        }
    }
    MPI_Comm_free(&comm);
    return co_test_finish();
}
