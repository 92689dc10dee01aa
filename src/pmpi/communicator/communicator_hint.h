// SPDX-License-Identifier: BSD-3-Clause
//
// The info hint castoff=no (off, false, 0): a communicator that carries it stays native, so that both sides of a
// comparison can run in one process. Not hot.
#ifndef CASTOFF_PMPI_COMMUNICATOR_HINT_H
#define CASTOFF_PMPI_COMMUNICATOR_HINT_H

#include <stdbool.h>

#include "mpi_below/next_mpi.h"

enum co_hint { CO_HINT_ABSENT, CO_HINT_ON, CO_HINT_SAYS_OFF };

enum co_hint co_communicator_hint_read(MPI_Info info);

#endif
