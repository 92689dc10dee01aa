// SPDX-License-Identifier: BSD-3-Clause
//
// What castoff must know of a datatype: bytes, extent, whether its bytes lie in memory as they are packed. Predefined
// types are looked up in a table made at start; for the program's own types native is asked each time, because their
// handles are used again after MPI_Type_free. Hot; any thread.
#ifndef CASTOFF_PMPI_DATATYPES_H
#define CASTOFF_PMPI_DATATYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmpi/next_mpi.h"

struct co_datatype {
    size_t bytes;       // of one element, packed
    ptrdiff_t extent;   // from one element to the next
    bool is_contiguous; // any number of elements is one run of bytes in the order of packing
    bool is_predefined; // of the table: needs no check whether it is committed
};

// Once, at start.
void co_datatypes_open(void);

// False: null, or native cannot say; then native must raise the error.
bool co_datatype_read(MPI_Datatype type, struct co_datatype *facts);

#endif
