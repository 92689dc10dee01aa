// SPDX-License-Identifier: BSD-3-Clause
//
// From -errno of the engine to an MPI error on the communicator's error handler. Rare.
#ifndef CASTOFF_PMPI_LIFE_FAILURE_H
#define CASTOFF_PMPI_LIFE_FAILURE_H

#include "mpi_below/next_mpi.h"

#include <errno.h>

// Of a call of the MPI below: 0 or -EIO.
static inline int co_failure_errno(int code)
{
    return code == MPI_SUCCESS ? 0 : -EIO;
}

// Logs, calls the handler of `comm` (MPI_COMM_NULL: freed meanwhile, then MPI_COMM_WORLD's, as MPI says for errors
// that belong to no communicator) and returns the error code when the handler returns.
int co_failure_raise(MPI_Comm comm, const char *call, int error);

// The code alone, raised nowhere.
int co_failure_code(int error);

// The same for an error that has an MPI code already.
int co_failure_raise_code(MPI_Comm comm, const char *call, int code);

// The log's line alone.
void co_failure_log(const char *call, int error);

#endif
