// SPDX-License-Identifier: BSD-3-Clause
//
// Stands before MPI and spoils one number of what rank 0 sends in its third such call: a benchmark that says that all
// is right must notice.
#include <mpi.h>

static int calls;

static void spoil(const void *buffer, MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0 && ++calls == 3) {
        ((double *)(unsigned long)buffer)[1] += 0.001; // the first one of a panel is not needed
    }
}

int MPI_Ialltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm, MPI_Request *request)
{
    spoil(from, comm);
    return PMPI_Ialltoall(from, count, type, to, to_count, to_type, comm, request);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    if (rank == root) {
        spoil(buffer, comm);
    }
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    spoil(buffer, comm);
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
