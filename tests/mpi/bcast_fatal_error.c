// SPDX-License-Identifier: BSD-3-Clause
// A wrong root under the default handler: the job is aborted with the class of the error as its exit
// status, as stock does it.
// ranks: 2
// status: 8
// expect: job aborted with status 8 (MPI_ERR_ROOT)
#include <mpi.h>

int main(int argc, char **argv)
{
    int value = 1;
    MPI_Init(&argc, &argv);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
