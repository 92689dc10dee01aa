// SPDX-License-Identifier: BSD-3-Clause
// A program that leaves without MPI_Finalize, by return from main after collectives, with an Iallgather
// outstanding: mpirun says so and gives its own status, as on stock. Nothing may hang, no process and
// no shared memory may stay behind.
// ranks: 2
// status: 1
// expect: mpirun's status for a missing finalize
#include "oracle/verdict.h"

#include <stdio.h>

static char send[100000];
static char receive[200000];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int value = co_test_rank() + 5;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Iallgather(send, sizeof send, MPI_CHAR, receive, sizeof send, MPI_CHAR, MPI_COMM_WORLD, &request);
    int status = co_test_print();
    // Both ranks leave at about the same time: the order of stock's messages is not compared.
    return value == 5 && request != MPI_REQUEST_NULL ? status : 1;
}
