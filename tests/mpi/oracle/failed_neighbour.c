// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/failed_neighbour.h"

#include "oracle/verdict.h"

#include <string.h>

#define MOST 2500 // requests of an array

enum { SMALL = 1, ARRIVED, LATE }; // tags

static MPI_Request requests[MOST];
static MPI_Status statuses[MOST];
static int raised, all[16], few[2], arrived, late, mine;

static void count(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    raised++;
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void say(const char *what, int index, bool with_statuses)
{
    co_test_say("  %s: ", what);
    if (with_statuses) {
        co_test_say("class %d, ", class_of(statuses[index].MPI_ERROR));
    }
    co_test_say("%s\n", requests[index] == MPI_REQUEST_NULL ? "gone" : "there");
}

// The late ones end when all ranks have come back.
static void let_them_end(int length, int last_round)
{
    int next = (co_test_rank() + 1) % co_test_size(), seven = 7;
    MPI_Barrier(MPI_COMM_WORLD);
    if (co_test_rank() != 0) {
        MPI_Request request;
        MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Send(&seven, 1, MPI_INT, next, LATE, MPI_COMM_WORLD);
    int code = MPI_Waitall(length, requests, MPI_STATUSES_IGNORE);
    co_test_expect(code == MPI_SUCCESS, "the others: error %d", code);
    co_test_expect(late == 7 && arrived == 5, "the others: got %d and %d", late, arrived);
    for (int rank = 0; rank < co_test_size(); rank++) {
        co_test_expect(all[rank] == 100 * rank + last_round, "the others: wrong block of rank %d", rank);
    }
    memset(all, 0, sizeof all);
    late = arrived = 0;
}

static void try(int length, bool fails_first, bool with_statuses, int round)
{
    int size = co_test_size(), rank = co_test_rank(), next = (rank + 1) % size, last = (rank + size - 1) % size;
    int many[4] = {1, 2, 3, 4}, five = 5;
    int small = fails_first ? 0 : length - 1, gather = length / 2, message = length / 2 + 1, done = 1;
    co_test_say("%d requests, %s, %s\n", length, fails_first ? "the first fails" : "the last fails",
                with_statuses ? "statuses" : "no statuses");
    for (int i = 0; i < length; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    mine = 100 * rank + round;
    MPI_Irecv(few, 2, MPI_INT, last, SMALL, MPI_COMM_WORLD, &requests[small]);
    MPI_Irecv(&arrived, 1, MPI_INT, last, ARRIVED, MPI_COMM_WORLD, &requests[done]);
    MPI_Irecv(&late, 1, MPI_INT, last, LATE, MPI_COMM_WORLD, &requests[message]);
    if (rank == 0) {
        MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[gather]);
    }
    MPI_Barrier(MPI_COMM_WORLD); // all receives are there
    MPI_Send(&five, 1, MPI_INT, next, ARRIVED, MPI_COMM_WORLD);
    MPI_Send(many, 4, MPI_INT, next, SMALL, MPI_COMM_WORLD);
    raised = 0;
    int code = MPI_Waitall(length, requests, with_statuses ? statuses : MPI_STATUSES_IGNORE);
    co_test_say("  class %d, raised %d times, got %d %d\n", class_of(code), raised, few[0], few[1]);
    say("the failed one", small, with_statuses);
    say("the one that is done", done, with_statuses);
    say("the late message", message, with_statuses);
    if (rank == 0) {
        say("the late allgather", gather, with_statuses);
    }
    let_them_end(length, round);
}

int co_failed_neighbour(void)
{
    MPI_Errhandler handler;
    co_test_begin();
    MPI_Comm_create_errhandler(count, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int round = 0; round < 8; round++) {
        try(round < 4 ? 6 : MOST, round % 2 == 0, round / 2 % 2 == 0, round);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    return co_test_finish();
}
