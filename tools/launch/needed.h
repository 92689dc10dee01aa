// SPDX-License-Identifier: BSD-3-Clause
//
// Which libraries a program is linked with, by name; those that come with them, or later, are not seen. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_NEEDED_H
#define CASTOFF_TOOLS_LAUNCH_NEEDED_H

#include <stdbool.h>

// Whether the dynamic linker will load a library of one of these names (which end with NULL) for the program itself.
bool co_needed_has(const char *path, const char *const names[]);

#endif
