// SPDX-License-Identifier: BSD-3-Clause
//
// The table of families. What is served here must be what the library itself accepts (mpi_below). Cold.
#include "families.h"

#include <stdio.h>
#include <string.h>

#include "base/plain_text.h"
#include "needed.h"
#include "places.h"

// The first that fits decides.
static const struct co_family families[] = {
    {"Open MPI 4.1", "Open MPI v4.1", "libcastoff.so"},
    {"Open MPI 5.0", "Open MPI v5.0", "libcastoff.so"},
    {"Open MPI", "Open MPI v", NULL},
    {"MPICH 4", "MPICH Version: 4", CO_FAMILY_LIBRARY_MPICH},
    {"MPICH", "MPICH", NULL},
    {"Intel MPI", "Intel(R) MPI", NULL},
    {"MVAPICH", "MVAPICH", NULL},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

const struct co_family *co_family_of(const char *library_text)
{
    for (int i = 0; i < FAMILIES; i++) {
        if (co_plain_begins(library_text, families[i].begins)) {
            return &families[i];
        }
    }
    return NULL;
}

bool co_family_is_served(const struct co_family *family)
{
    char path[PATH_MAX];
    if (family == NULL || family->library == NULL) {
        return false;
    }
    return strcmp(family->library, CO_FAMILY_LIBRARY_MPICH) != 0 || co_places_preload(path, family->library) == 0;
}

// C's, and Fortran's and C++'s, with which a program may be linked alone.
static const char *const mpich_names[] = {"libmpich.so.12",
                                          "libmpi.so.12",
                                          "libmpichfort.so.12",
                                          "libmpifort.so.12",
                                          "libmpichcxx.so.12",
                                          "libmpicxx.so.12",
                                          NULL};

bool co_family_links_mpich(const char *program_path)
{
    return co_needed_has(program_path, mpich_names);
}

void co_families_served(char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < FAMILIES && used < room; i++) {
        if (co_family_is_served(&families[i])) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", families[i].name);
        }
    }
}
