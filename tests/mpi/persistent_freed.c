// SPDX-License-Identifier: BSD-3-Clause
// What persistent collectives outlive: their datatypes and their communicator, freed before the first start and
// followed at once by others that may have the handles; MPI_Comm_disconnect between two starts. Requests that are made
// and freed in a row, on one rank while another has not yet started; hundreds at a time, more than the node has room
// for; a second start of one that is under way; and some that MPI_Finalize finds inactive. Not in the modes native and
// off: Open MPI 4.1.4 uses types and communicators after their end, and does not notice the second start.
// ranks: 2 3
// modes: on faults damage
// expect: every start delivers its own ints
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/planned.h"
#include "oracle/verdict.h"

#define MANY 600

static void start_and_check(struct co_planned *planned, int count, int times)
{
    for (int time = 0; time < times; time++) {
        for (int i = 0; i < count; i++) {
            co_planned_fill(&planned[i]);
            MPI_Start(&planned[i].request);
        }
        for (int i = 0; i < count; i++) {
            MPI_Wait(&planned[i].request, MPI_STATUS_IGNORE);
            co_planned_check(&planned[i]);
        }
    }
}

static void make_three(struct co_planned planned[3], int number, int ints, MPI_Comm comm)
{
    for (int i = 0; i < 3; i++) {
        planned[i] = (struct co_planned){
            .kind = (enum co_planned_kind)i, .number = number + i, .ints = ints, .is_gap = (number + i) % 2 == 0};
        co_planned_make(&planned[i], comm);
    }
}

static void outlive_communicator(bool disconnects)
{
    struct co_planned planned[3], others[3];
    MPI_Comm comm, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    make_three(planned, 10, 5000, comm);
    if (disconnects) {
        start_and_check(planned, 3, 2);
        MPI_Comm_disconnect(&comm);
    } else {
        MPI_Comm_free(&comm);
    }
    MPI_Datatype decoys[6];
    for (int i = 0; i < 3; i++) {
        co_planned_free_type(&planned[i]);
    }
    for (int i = 0; i < 6; i++) { // of another layout, perhaps in the same place
        MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &decoys[i]);
        MPI_Type_commit(&decoys[i]);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    make_three(others, 20, 5000, other);
    start_and_check(others, 3, 2);
    start_and_check(planned, 3, 3);
    for (int i = 0; i < 3; i++) {
        co_planned_free(&planned[i]);
    }
    start_and_check(others, 3, 2);
    for (int i = 0; i < 3; i++) {
        co_planned_free(&others[i]);
    }
    MPI_Comm_free(&other);
    for (int i = 0; i < 6; i++) {
        MPI_Type_free(&decoys[i]);
    }
}

// The root of a small broadcast is done, and has freed the request, before the others begin.
static void free_ahead(void)
{
    for (int round = 0; round < 200; round++) {
        struct co_planned planned = {.kind = CO_PLANNED_BCAST, .number = round, .ints = 1 + round % 100};
        co_planned_make(&planned, MPI_COMM_WORLD);
        start_and_check(&planned, 1, 1 + round % 3);
        co_planned_free(&planned);
    }
}

static void make_many(void)
{
    static struct co_planned planned[MANY];
    for (int i = 0; i < MANY; i++) {
        planned[i] =
            (struct co_planned){.kind = (enum co_planned_kind)(i % CO_PLANNED_KINDS), .number = i, .ints = 1 + i % 40};
        co_planned_make(&planned[i], MPI_COMM_WORLD);
    }
    start_and_check(planned, MANY, 2);
    for (int i = 0; i < MANY; i++) {
        co_planned_free(&planned[i]);
    }
}

static void start_twice(struct co_planned *planned)
{
    int class, token = 0, late = co_test_size() - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    co_planned_fill(planned);
    if (co_test_rank() == late) {
        for (int r = 0; r < late; r++) {
            MPI_Recv(&token, 1, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Start(&planned->request);
    if (co_test_rank() != late) { // it cannot be over
        MPI_Error_class(MPI_Start(&planned->request), &class);
        co_test_expect(class == MPI_SUCCESS, "second start: class %d", class); // let pass, as natively
        MPI_Error_class(MPI_Startall(1, &planned->request), &class);
        co_test_expect(class == MPI_ERR_REQUEST, "second Startall: class %d", class);
        MPI_Send(&token, 1, MPI_INT, late, 1, MPI_COMM_WORLD);
    }
    MPI_Wait(&planned->request, MPI_STATUS_IGNORE);
    co_planned_check(planned);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    static struct co_planned left[3];
    MPI_Init(&argc, &argv);
    co_test_begin();
    outlive_communicator(false);
    outlive_communicator(true);
    free_ahead();
    make_many();
    make_three(left, 3, 100, MPI_COMM_WORLD);
    start_and_check(left, 3, 1);
    start_twice(&left[CO_PLANNED_ALLGATHER]);
    start_twice(&left[CO_PLANNED_ALLGATHERV]);
    return co_test_finish();
}
