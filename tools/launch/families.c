// SPDX-License-Identifier: BSD-3-Clause
//
// The table of families. What is served here must be what the library itself accepts (mpi_below). Cold.
#include "families.h"

#include <stdio.h>
#include <string.h>

// The first that fits decides.
static const struct co_family families[] = {
    {"Open MPI 4.1", "Open MPI v4.1", "libcastoff.so"},
    {"Open MPI 5.0", "Open MPI v5.0", "libcastoff.so"},
    {"Open MPI", "Open MPI v", NULL},
    {"MPICH", "MPICH", NULL},
    {"Intel MPI", "Intel(R) MPI", NULL},
    {"MVAPICH", "MVAPICH", NULL},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

const struct co_family *co_family_of(const char *library_text)
{
    for (int i = 0; i < FAMILIES; i++) {
        if (strncmp(library_text, families[i].begins, strlen(families[i].begins)) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

void co_families_served(char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < FAMILIES && used < room; i++) {
        if (families[i].library != NULL) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", families[i].name);
        }
    }
}
