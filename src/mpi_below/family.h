// SPDX-License-Identifier: BSD-3-Clause
//
// What differs between the families of MPI that castoff serves: a table of facts and functions each. The one whose
// library lies below is chosen once, by what that says of itself (next_mpi.c); nothing else asks for a version.
#ifndef CASTOFF_MPI_BELOW_FAMILY_H
#define CASTOFF_MPI_BELOW_FAMILY_H

#include <stdbool.h>

struct co_next_mpi;

struct co_mpi_family {
    const char *name;             // for people: "Open MPI 4.1"
    const char *version;          // how the text of its MPI_Get_library_version begins
    const char *progress_library; // that has its progress loop
    // Fills in what is no function of MPI: handles, the progress loop. `family` is set.
    void (*find)(struct co_next_mpi *next);
    // Whether its MPI_Init goes on with a PMIx that somebody has initialized before; else each rank leaves its mark
    // while MPI_Init itself initializes PMIx.
    bool joins_pmix;
    // The variable by which its launcher tells ranks that faults are to be tolerated; NULL: it does not know how to.
    const char *fault_tolerance;
};

extern const struct co_mpi_family co_family_open_mpi_4, co_family_open_mpi_5;

#endif
