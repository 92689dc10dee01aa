// SPDX-License-Identifier: BSD-3-Clause
//
// Files that results go to; "-" is standard output. Cold.
#ifndef CASTOFF_TOOLS_OUTPUT_FILE_H
#define CASTOFF_TOOLS_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

// Is this standard output? NULL: no file was asked for.
bool co_output_is_piped(const char *path);

// Whether the file could be written, found out before the time for measuring is spent: 0 or -errno. What is there
// stays, and nothing new does. Of standard output and NULL it can.
int co_output_check(const char *path);

// The same of a directory for files, which is made where its parent is there.
int co_output_check_directory(const char *path);

// NULL with errno. What was there is gone. The user has written the name, or that of the folder, in the command: it may
// be a link or a pipe, as any tool's result may. What castoff names by itself in places of others is made anew instead
// (trace_writer.c, private folders).
FILE *co_output_open(const char *path);

// Why what was written before has not arrived, which nobody knows any more: it is tried again. 0: nothing is missing
// yet.
int co_output_error(FILE *file);

int co_output_close(FILE *file); // 0 or -errno: not all of it has been written

#endif
