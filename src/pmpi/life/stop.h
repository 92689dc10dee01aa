// SPDX-License-Identifier: BSD-3-Clause
//
// End of castoff inside MPI_Finalize, or after a start that failed half-way. One thread.
#ifndef CASTOFF_PMPI_LIFE_STOP_H
#define CASTOFF_PMPI_LIFE_STOP_H

// In the delete callback of an attribute of MPI_COMM_SELF, set by start as the first of all, so it runs last.
// `why_native`: why this job runs on native MPI; "": it does not, or nobody was told.
void co_stop(const char *why_native);

#endif
