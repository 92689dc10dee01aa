// SPDX-License-Identifier: BSD-3-Clause
//
// What LD_PRELOAD names.
#ifndef CASTOFF_BASE_PRELOAD_H
#define CASTOFF_BASE_PRELOAD_H

#include <stdbool.h>

// Whether `preloads`, a list as ld.so(8) takes it apart, at spaces and colons, has `library`: that very path where it
// has a slash, else a file of that name in whatever folder. NULL: an empty list.
bool co_preload_names(const char *preloads, const char *library);

// Takes it out of such a list, in place. Whether it was there.
bool co_preload_leave_out(char *preloads, const char *library);

// Whether `preloads` is that of a process which runs under that tool of Valgrind's; "core": under any. To memcheck what
// others write into its memory counts as never written, and each look at it as a fault of the program; what it reads
// itself is seen.
bool co_preload_has_valgrind(const char *preloads, const char *tool);

#endif
