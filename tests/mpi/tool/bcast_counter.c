// SPDX-License-Identifier: BSD-3-Clause
// A PMPI tool as profilers are built: it defines MPI_Bcast and MPI_Recv, counts, and calls PMPI_Bcast and PMPI_Recv.
// The stacking test preloads it in front of and behind the library and asks for the count by symbol name. Runs in the
// calling thread; not hot.
#include <mpi.h>
#include <stdbool.h>

long bcast_counter_value(void);

static long calls;
static bool has_begun; // tools prepare themselves in MPI_Init

int MPI_Init(int *argc, char ***argv)
{
    has_begun = true;
    return PMPI_Init(argc, argv);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    calls++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    calls++;
    return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

long bcast_counter_value(void)
{
    return has_begun ? calls : -1;
}
