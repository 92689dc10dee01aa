// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI_X that programs call, of all functions that castoff wraps as PMPI_X: MPI's names for profiling. They lead to
// a tool that stands behind castoff, as native's would, which calls PMPI_X in turn. MPI_Init only.
#ifndef CASTOFF_PMPI_LIFE_ENTRIES_H
#define CASTOFF_PMPI_LIFE_ENTRIES_H

// Where a tool stands behind castoff, linked by the program or preloaded: the entries lead there from now on. Before
// MPI_Init calls anything; idempotent.
void co_entries_find_tool(void);

#endif
