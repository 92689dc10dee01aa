// SPDX-License-Identifier: BSD-3-Clause
//
// Modules: shared libraries of castoff's own beside the library that this code is part of, loaded when they are asked
// for, because they need more than the C library. They are kept once they are loaded: other threads may be in them.
// Start-up, or rare.
#ifndef CASTOFF_BASE_MODULE_H
#define CASTOFF_BASE_MODULE_H

#include <stddef.h>

// The file that holds this function: the preloaded library, or the program in unit tests; *base: where it is mapped,
// unless NULL. NULL: unknown.
const char *co_module_own_file(const void **base);

// The function `symbol` of `file` in `directory` (NULL: beside this library), or NULL with the reason.
void *co_module_load(const char *directory, const char *file, const char *symbol, char *why, size_t why_room);

#endif
