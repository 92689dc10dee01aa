// SPDX-License-Identifier: BSD-3-Clause
//
// Is a function a tool's for profiling? The start alone asks.
#ifndef CASTOFF_PMPI_LIFE_TOOL_BEHIND_H
#define CASTOFF_PMPI_LIFE_TOOL_BEHIND_H

// The function MPI_`name` (or MPIX_`name`) of a tool behind castoff that calls PMPI functions by their names, and so
// comes to castoff's; NULL: there is none, or it looks its next one up some other way, past castoff. `below`: the MPI
// library's PMPI_`name`.
void *co_tool_behind_find(const char *name, const void *below);

#endif
