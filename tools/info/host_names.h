// SPDX-License-Identifier: BSD-3-Clause
//
// The hosts that `castoff info --check` was given, as a launcher may be told them. Cold.
#ifndef CASTOFF_TOOLS_INFO_HOST_NAMES_H
#define CASTOFF_TOOLS_INFO_HOST_NAMES_H

#include <stddef.h>

// Of those words, which may have commas in them, each name once: NULL-terminated, to be freed by co_host_names_free.
// NULL: one is none that a launcher could be told, and why, or there is no memory.
char **co_host_names_take(char *const *words, char *why, size_t room);
void co_host_names_free(char **names);

#endif
