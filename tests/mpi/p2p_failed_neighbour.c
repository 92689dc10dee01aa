// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall of an array in which a receive fails while others cannot end before the call returns, where all messages
// are castoff's; iallgather_failed_neighbour says what is expected.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: the same words in every mode
// taken: MPI_Iallgather
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/failed_neighbour.h"

#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return co_failed_neighbour();
}
