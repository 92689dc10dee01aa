// SPDX-License-Identifier: BSD-3-Clause
//
// Which castoff this is: number, commit, the MPI it was built with, the compiler. Constant. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_VERSION_H
#define CASTOFF_TOOLS_LAUNCH_VERSION_H

#include <stdio.h>

const char *co_version_number(void);   // "0.2.0"; "0.2.0+12" twelve commits later
const char *co_version_commit(void);   // "0964134 of 2026-11-26"; "" where it is not known
const char *co_version_compiler(void); // "gcc 12.2.0 for x86_64"
const char *co_version_mpi(void);      // "Open MPI 4.1.4"

// The first line is "castoff NUMBER"; the others say the rest.
void co_version_print(FILE *stream);

#endif
