// SPDX-License-Identifier: BSD-3-Clause
//
// What can be told of a program before it runs: where it lies and whether a preloaded library reaches it. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_PROGRAM_H
#define CASTOFF_TOOLS_LAUNCH_PROGRAM_H

#include <limits.h>

enum co_program_kind {
    CO_PROGRAM_REACHED, // dynamically linked for this processor, or a script
    CO_PROGRAM_STATIC,  // no interpreter: nothing is preloaded
    CO_PROGRAM_MUSL,    // of another C library, whose linker ends a program into which it cannot preload
    CO_PROGRAM_FOREIGN, // other word size or processor
    CO_PROGRAM_SETUID,  // set-user-ID, set-group-ID or capabilities: the linker ignores LD_PRELOAD
};

// Finds `name` as execvp would, in `folders` (colon-separated) unless it has a slash. 0, -ENOENT, -EACCES, -EISDIR.
int co_program_find(char path[PATH_MAX], const char *name, const char *folders);

enum co_program_kind co_program_look(const char *path);

// Why castoff cannot serve such a program, as the end of the sentence "PROGRAM ..."; NULL for CO_PROGRAM_REACHED.
const char *co_program_kind_text(enum co_program_kind kind);

#endif
