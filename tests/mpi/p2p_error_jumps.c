// SPDX-License-Identifier: BSD-3-Clause
// An error handler that does not come back but jumps: the call that raised the error has let go of all that it held,
// so that communicators whose last call ended so cost no memory once they are freed, as those whose handler returned.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: the same in every mode
// report: calls["MPI_Mrecv"]["taken"] > 0 or nodes > 1
#include "oracle/verdict.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdlib.h>

#define COMMUNICATORS 400
#define TIMES 3
#define MOST_BYTES 32 // of a communicator that was jumped out of, beside one whose handler returned

static jmp_buf back;
static bool jumps;
static int handled;
static MPI_Comm comms[COMMUNICATORS];

static void on_error(MPI_Comm *where, int *code, ...)
{
    (void)where;
    (void)code;
    handled++;
    if (jumps) {
        longjmp(back, 1);
    }
}

static void receive_too_much(MPI_Comm comm)
{
    int sent[2] = {1, 2}, rank;
    static int received; // after a jump
    MPI_Request request;
    MPI_Message message;
    MPI_Comm_rank(comm, &rank);
    MPI_Isend(sent, 2, MPI_INT, rank, 0, comm, &request);
    MPI_Mprobe(rank, 0, comm, &message, MPI_STATUS_IGNORE);
    if (setjmp(back) == 0) {
        MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Bytes that are allocated after it and were not before.
static long use_communicators(MPI_Errhandler handler)
{
    size_t before = mallinfo2().uordblks;
    handled = 0;
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], handler);
        receive_too_much(comms[i]);
    }
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_Comm_free(&comms[i]);
    }
    co_test_say("%d errors\n", handled);
    return (long)(mallinfo2().uordblks - before);
}

// The least of several times: what stays of each communicator stays each time, a pool that grows does so once.
static long least_that_stays(MPI_Errhandler handler)
{
    long least = use_communicators(handler);
    for (int i = 1; i < TIMES; i++) {
        long stays = use_communicators(handler);
        least = stays < least ? stays : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_create_errhandler(on_error, &handler);
    use_communicators(handler); // tables grow
    long returning = least_that_stays(handler);
    jumps = true;
    long jumping = least_that_stays(handler);
    co_test_expect(jumping - returning < (long)COMMUNICATORS * MOST_BYTES,
                   "%ld bytes stay of %d communicators, %ld where the handler returns", jumping, COMMUNICATORS,
                   returning);
    MPI_Errhandler_free(&handler);
    return co_test_finish();
}
