// SPDX-License-Identifier: BSD-3-Clause
//
// Which MPI libraries are on this host: those that the dynamic linker finds by the names that families have, and those
// beside the mpirun of PATH. Each is loaded and asked in a child, so that nothing of it stays here. Cold.
#ifndef CASTOFF_TOOLS_INFO_FAMILIES_H
#define CASTOFF_TOOLS_INFO_FAMILIES_H

#include <limits.h>

#include "tools/launch/families.h"

enum { CO_FAMILIES_MAX = 8 };

struct co_family_found {
    char path[PATH_MAX];
    char text[96];                  // the first words of what it says of itself
    const struct co_family *family; // NULL: none that castoff knows
};

// `mpirun`: a path, or "". Returns how many, each file once.
int co_families_find(struct co_family_found found[CO_FAMILIES_MAX], const char *mpirun);

#endif
