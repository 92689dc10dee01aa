// SPDX-License-Identifier: BSD-3-Clause
//
// Start of castoff around the native MPI_Init. Whatever goes wrong, the job runs on
// native MPI with one line that says why. One thread.
#ifndef CASTOFF_PMPI_LIFE_START_H
#define CASTOFF_PMPI_LIFE_START_H

// Before the native MPI_Init: reads the settings and announces this rank to the others.
void co_start_prepare(void);

// After it, with its code.
void co_start_finish(int init_code);

#endif
