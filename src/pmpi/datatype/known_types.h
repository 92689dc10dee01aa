// SPDX-License-Identifier: BSD-3-Clause
//
// Datatypes of the program that it has used more than once, and what castoff knows of them, so that native is not asked
// for every message. Native uses handles again after MPI_Type_free: an attribute of the type tells of its end
// (MPI 3.1, section 6.7.4), and what is known goes with it. A program must not free a type inside a call that uses it,
// so what is found is valid during the call; a shape may be held for longer. Hot; any thread.
#ifndef CASTOFF_PMPI_DATATYPE_KNOWN_TYPES_H
#define CASTOFF_PMPI_DATATYPE_KNOWN_TYPES_H

#include "base/atomics.h"
#include "pmpi/datatype/type_map.h"

struct co_known_type {
    struct co_datatype facts;
    struct co_type_shape *shape; // NULL: native packs it
    _Atomic bool is_accepted[2]; // native takes it to receive, to send, with any count and any address but NULL
};

// At start and stop; without them, and without memory, nothing is ever known.
void co_known_types_open(void);
void co_known_types_close(void);

// A type that native has just accepted.
void co_known_type_meet(MPI_Datatype type, const struct co_datatype *facts, bool sends);

struct co_known_type_cell {
    _Atomic(MPI_Datatype) type; // NULL: free
    _Atomic(struct co_known_type *) known;
};

enum { CO_KNOWN_TYPE_CELLS = 512, CO_KNOWN_TYPE_PROBES = 4 };
extern struct co_known_type_cell co_known_type_cells[CO_KNOWN_TYPE_CELLS];

static inline struct co_known_type_cell *co_known_type_cell(MPI_Datatype type, unsigned probe)
{
    uint64_t hash = CO_HANDLE_HASH(type);
    return &co_known_type_cells[(hash + probe) % CO_KNOWN_TYPE_CELLS];
}

// NULL: not known.
static inline struct co_known_type *co_known_type_find(MPI_Datatype type)
{
    for (unsigned probe = 0; probe < CO_KNOWN_TYPE_PROBES; probe++) {
        struct co_known_type_cell *cell = co_known_type_cell(type, probe);
        // acquire C: while this type lives its cell stays, and what its last owner knew is gone from it.
        if (co_load_acquire(&cell->type) == type) {
            return co_load_acquire(&cell->known); // acquire T: all of it
        }
    }
    return NULL;
}

static inline bool co_known_type_is_accepted(const struct co_known_type *known, bool sends)
{
    return co_load_relaxed(&known->is_accepted[sends]); // relaxed: native accepts it again, if it must
}

#endif
