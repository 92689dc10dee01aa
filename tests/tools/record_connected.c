// SPDX-License-Identifier: BSD-3-Clause
//
// Two programs of one rank each that meet at a port, as far as MPI knows: a communicator that no recorded call made,
// and a message on it. Two ranks.
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value = 1;
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm peer;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer);
        MPI_Close_port(port);
        MPI_Send(&value, 1, MPI_INT, 0, 1, peer);
    } else {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &peer);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, peer, MPI_STATUS_IGNORE);
    }
    MPI_Comm_disconnect(&peer);
    return MPI_Finalize();
}
