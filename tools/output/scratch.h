// SPDX-License-Identifier: BSD-3-Clause
//
// A directory for what is not to stay, in TMPDIR or /tmp. It goes when it is closed, and also when the process is ended
// by a signal, whichever: a child watches. Opened before there are threads. Cold.
#ifndef CASTOFF_TOOLS_OUTPUT_SCRATCH_H
#define CASTOFF_TOOLS_OUTPUT_SCRATCH_H

#include <sys/types.h>

struct co_scratch {
    char *path;
    int alive; // open as long as the process lives
    pid_t watcher;
};

// TMPDIR, or /tmp.
const char *co_scratch_place(void);
// 0 or -errno: then there is none, and close does nothing.
int co_scratch_open(struct co_scratch *scratch, const char *name);
void co_scratch_close(struct co_scratch *scratch);

#endif
