// SPDX-License-Identifier: BSD-3-Clause
//
// Everything that `castoff info` knows of this host, as JSON. Needs co_settings_load. Cold.
#ifndef CASTOFF_TOOLS_INFO_JSON_H
#define CASTOFF_TOOLS_INFO_JSON_H

#include <stddef.h>

// `library`, `mpirun`: paths, or ""; `warning` gives the complaint of that number, NULL behind the last. 0 or -errno.
int co_info_json_print(const char *library, const char *mpirun, const char *(*warning)(size_t));

#endif
