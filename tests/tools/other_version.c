// SPDX-License-Identifier: BSD-3-Clause
//
// Stands behind the library for other_mpi_test.sh and gives the MPI below another version.
#include <stdio.h>

int PMPI_Get_library_version(char *version, int *length);

__attribute__((visibility("default"))) int PMPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, 64, "Open MPI v6.0.1, package: Debian OpenMPI");
    return 0;
}
