// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall of an array in which a receive fails while an MPI_Iallgather, or another receive, cannot end before the
// call returns: the failed one has its error, what is done is completed, the others are pending and go on. Arrays of
// few and of many requests, with and without statuses, the failed one before and behind the others.
// ranks: 2 3
// expect: the same words in every mode
// taken: MPI_Iallgather
#include "oracle/failed_neighbour.h"

#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return co_failed_neighbour();
}
