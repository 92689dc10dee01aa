// SPDX-License-Identifier: BSD-3-Clause
//
// What castoff must know of a datatype: bytes, extent, whether its bytes lie in memory as they are packed. Predefined
// types are looked up in a table made at start; for the program's own types native is asked each time, because their
// handles are used again after MPI_Type_free. Hot; any thread.
#ifndef CASTOFF_PMPI_DATATYPE_DATATYPES_H
#define CASTOFF_PMPI_DATATYPE_DATATYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_below/next_mpi.h"

struct co_datatype {
    size_t bytes;       // of one element, packed
    ptrdiff_t extent;   // from one element to the next
    bool is_contiguous; // any number of elements is one run of bytes in the order of packing
};

// Once, at start.
void co_datatypes_open(void);

// One place of the table of predefined types, open addressing.
struct co_datatype_cell {
    MPI_Datatype type;
    struct co_datatype facts;
};

#define CO_DATATYPE_CELLS 256
extern struct co_datatype_cell co_datatype_cells[CO_DATATYPE_CELLS];

static inline size_t co_datatype_cell_of(MPI_Datatype type)
{
    return (size_t)CO_HANDLE_HASH(type) % CO_DATATYPE_CELLS;
}

// NULL: a type of the program's, or an unusual or null one.
static inline const struct co_datatype *co_datatype_predefined(MPI_Datatype type)
{
    for (size_t at = co_datatype_cell_of(type);; at = (at + 1) % CO_DATATYPE_CELLS) {
        if (co_datatype_cells[at].type == type) {
            return type == CO_NO_HANDLE ? NULL : &co_datatype_cells[at].facts;
        }
        if (co_datatype_cells[at].type == CO_NO_HANDLE) {
            return NULL;
        }
    }
}

// For those. False: null, or native cannot say; then native must raise the error.
bool co_datatype_read(MPI_Datatype type, struct co_datatype *facts);

// How it was made, and how many integers, addresses and types MPI_Type_get_contents has of it. False: native cannot
// say, or there are counts among them that are no int; the combiner is told all the same, or MPI_COMBINER_NAMED.
bool co_datatype_envelope(MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner);

// A handle that native has told as a part of another type (MPI_Type_get_contents): of a derived type it is ours to
// free.
void co_datatype_give_back(MPI_Datatype inner);

// The same type under a handle of ours, which the program's may be freed before. Free it natively. 0, or -ENOMEM with
// datatype_null.
int co_datatype_hold(MPI_Datatype type, MPI_Datatype *held);

#endif
