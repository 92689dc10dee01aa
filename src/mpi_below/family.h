// SPDX-License-Identifier: BSD-3-Clause
//
// What differs between the families of MPI that castoff serves: a table of facts and functions each. A build is for
// those of one ABI, because handles differ. Of these, the one whose library lies below is chosen once, by what that
// says of itself (next_mpi.c); nothing else asks for a version.
#ifndef CASTOFF_MPI_BELOW_FAMILY_H
#define CASTOFF_MPI_BELOW_FAMILY_H

#include <stdbool.h>

#include "mpi_below/abi.h"

struct co_next_mpi;

struct co_mpi_family {
    const char *name;             // for people: "Open MPI 4.1"
    const char *version;          // how the text of its MPI_Get_library_version begins, but for blanks and tabs
    const char *progress_library; // that has its progress loop; NULL: nobody can join that, and workers must do it
    // Fills in what is no function of MPI: handles, the progress loop. `family` is set.
    void (*find)(struct co_next_mpi *next);
    // Whether its MPI_Init goes on with a PMIx that somebody has initialized before; else each rank leaves its mark
    // while MPI_Init itself initializes PMIx.
    bool joins_pmix;
    // Whether castoff serves messages from rank to rank; else they are left to it whatever the settings say.
    bool has_messages;
    // Variables by which its launcher tells ranks things. NULL: it does not.
    const char *fault_tolerance; // faults are to be tolerated, as its command line says
    const char *monitoring;      // it is to count what it carries between ranks
    const char *programs;        // how many programs the job has
    const char *job;             // its name
    // A variable (bool) of the library that says the same once MPI_Init is over, where a file has it, too. NULL, or not
    // there: they are not.
    const char *tolerates_faults;
};

// Of a build.
struct co_mpi_abi {
    const struct co_mpi_family *const *families; // ends with NULL
    const char *const *libraries;                // that a program may have loaded for itself alone; ends with NULL
    const char *mismatch;                        // with any other library below
    // The predefined type number `i`, from 0 on; CO_NO_HANDLE: the library below lacks it. False: there are no more.
    bool (*predefined_type)(const struct co_next_mpi *next, unsigned i, MPI_Datatype *type);
};

#ifdef OPEN_MPI
#define CO_MPI_ABI co_mpi_abi_open_mpi
#else
#define CO_MPI_ABI co_mpi_abi_mpich
#endif
extern const struct co_mpi_abi CO_MPI_ABI;

#endif
