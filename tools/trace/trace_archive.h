// SPDX-License-Identifier: BSD-3-Clause
//
// Archives of traces, unpacked by tar into a directory that the caller removes in the end. Cold.
#ifndef CASTOFF_TOOLS_TRACE_ARCHIVE_H
#define CASTOFF_TOOLS_TRACE_ARCHIVE_H

#include <stddef.h>

struct co_trace_archive {
    char *directory; // NULL: no path was an archive
    char **paths;    // in place of those that were given
    size_t path_count;
};

// Replaces the paths where one of them is an archive; `scratch`: a directory, NULL: there is none. 0 or -errno, and
// complained.
int co_trace_archive_open(struct co_trace_archive *archive, const char *scratch, char ***paths, size_t *path_count);
void co_trace_archive_close(struct co_trace_archive *archive);

#endif
