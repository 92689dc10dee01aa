// SPDX-License-Identifier: BSD-3-Clause
// Starts of a persistent collective that is under way, a mistake of the program. Open MPI 4.1.4's MPI_Start says
// nothing of it, sends once more, and may never end; its MPI_Startall refuses. Castoff's say the same, start nothing
// else of the array, and the operation that is under way is the one that is completed. Native is left out: it may hang.
// ranks: 2 3
// modes: on faults damage
// expect: the classes that native says, right ints
// taken: MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif

#define RANKS 8
#define INTS 3000

static int send[INTS], receive[RANKS * INTS];

static void expect_class(const char *what, int code, int expected)
{
    int class;
    MPI_Error_class(code, &class);
    co_test_expect(class == expected, "%s: class %d", what, class);
}

static void check(const char *what)
{
    int wrong = 0;
    for (int i = 0; i < co_test_size() * INTS; i++) {
        wrong += receive[i] != 1000 * (i / INTS) + i % INTS;
        receive[i] = -1;
    }
    co_test_expect(wrong == 0, "%s: %d wrong ints", what, wrong);
}

static void disturb(MPI_Request *request, MPI_Request *other)
{
    MPI_Request both[2] = {*other, *request};
    MPI_Status status = {.MPI_SOURCE = -7};
    expect_class("Start", MPI_Start(request), MPI_SUCCESS);
    expect_class("Start of what is under way", MPI_Start(request), MPI_SUCCESS);
    expect_class("Startall of what is under way", MPI_Startall(1, request), MPI_ERR_REQUEST);
    expect_class("Startall with one that is under way", MPI_Startall(2, both), MPI_ERR_REQUEST);
    expect_class("Wait", MPI_Wait(request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    check("started twice");
    expect_class("Wait of the other one", MPI_Wait(other, &status), MPI_SUCCESS);
    co_test_expect(status.MPI_SOURCE == MPI_ANY_SOURCE, "it was started");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Request requests[2];
    int counts[RANKS], places[RANKS];
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < INTS; i++) {
        send[i] = 1000 * co_test_rank() + i;
    }
    for (int of = 0; of < RANKS; of++) {
        counts[of] = INTS;
        places[of] = of * INTS;
    }
    MPIX_Allgather_init(send, INTS, MPI_INT, receive, INTS, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPIX_Allgatherv_init(send, INTS, MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &requests[1]);
    disturb(&requests[0], &requests[1]);
    disturb(&requests[1], &requests[0]);
    for (int i = 0; i < 2; i++) {
        expect_class("Start again", MPI_Start(&requests[i]), MPI_SUCCESS);
        expect_class("Wait again", MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_SUCCESS);
        check("started again");
        expect_class("Request_free", MPI_Request_free(&requests[i]), MPI_SUCCESS);
    }
    return co_test_finish();
}
