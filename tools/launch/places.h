// SPDX-License-Identifier: BSD-3-Clause
//
// Where the parts of castoff lie, seen from the running binary: in the build folder or installed under a prefix. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_PLACES_H
#define CASTOFF_TOOLS_LAUNCH_PLACES_H

#include <limits.h>

// Each fills path[PATH_MAX] with an absolute path and returns 0, or -ENOENT.
int co_places_self(char path[PATH_MAX]);
int co_places_library(char path[PATH_MAX]);                         // libcastoff.so
int co_places_preload(char path[PATH_MAX], const char *name);       // of such libraries that one
int co_places_recorder(char path[PATH_MAX]);                        // libcastoff-record.so
int co_places_group_library(char path[PATH_MAX]);                   // libcastoff-group.so
int co_places_bench_program(char path[PATH_MAX], const char *name); // "coll"
int co_places_lab(char path[PATH_MAX]);                             // lab.sh

#endif
