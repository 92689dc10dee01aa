// SPDX-License-Identifier: BSD-3-Clause
// A PMPI tool as profilers are built: it defines MPI_Bcast, counts, and calls PMPI_Bcast. The stacking
// test preloads it in front of and behind the library and asks for the count by symbol name. Runs in
// the calling thread; not hot.
#include <mpi.h>

long bcast_counter_value(void);

static long calls;

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    calls++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

long bcast_counter_value(void)
{
    return calls;
}
