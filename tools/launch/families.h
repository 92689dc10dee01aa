// SPDX-License-Identifier: BSD-3-Clause
//
// Families of MPI libraries, told by what MPI_Get_library_version says, and which of castoff's libraries serves each.
// Constant. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_FAMILIES_H
#define CASTOFF_TOOLS_LAUNCH_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>

struct co_family {
    const char *name;
    const char *begins;  // how such a library's text begins
    const char *library; // castoff's that serves it; NULL: castoff stays off
};

// NULL: of none that castoff knows.
const struct co_family *co_family_of(const char *library_text);

#define CO_FAMILY_LIBRARY_MPICH "libcastoff-mpich.so"

// Whether castoff's library for it is here, which for MPICH is not built by default. NULL: false.
bool co_family_is_served(const struct co_family *family);

// Whether the program itself is linked with MPICH. Any other gets libcastoff.so, which does no harm under any MPI that
// it may load later.
bool co_family_links_mpich(const char *program_path);

// "Open MPI 4.1": those that are served, with commas between them.
void co_families_served(char *text, size_t room);

#endif
