// SPDX-License-Identifier: BSD-3-Clause
//
// Start and end of castoff around the native MPI_Init and inside MPI_Finalize. Whatever goes wrong, the job runs on
// native MPI with one line that says why. One thread.
#ifndef CASTOFF_PMPI_LIFE_START_H
#define CASTOFF_PMPI_LIFE_START_H

// Before the native MPI_Init: reads the settings and announces this rank to the others.
void co_start_prepare(void);

// After it, with its code.
void co_start_finish(int init_code);

// Why this job runs on native MPI; "": it does not, or nobody was told.
const char *co_start_why_native(void);

// In the delete callback of an attribute of MPI_COMM_SELF, set by start as the first of all, so it runs last.
void co_stop(void);

#endif
