// SPDX-License-Identifier: BSD-3-Clause
//
// The ranks of this host and this user that castoff serves, with their counters as they are now: what a process shows
// (base/live_counters.h) is looked for among its descriptors in /proc. Cold.
#ifndef CASTOFF_TOOLS_INFO_LIVE_RANKS_H
#define CASTOFF_TOOLS_INFO_LIVE_RANKS_H

#include <stddef.h>

#include "base/live_counters.h"

struct co_live_rank {
    int pid;          // here
    char state;       // of the process, as ps has it: R, S, D, T; ? where it is not known
    char command[32]; // what anybody may call himself
    struct co_live_counters counters;
};

struct co_live_ranks {
    struct co_live_rank *ranks; // by job, then by rank
    size_t count;
    size_t others; // processes with counters of another version of castoff
};

// `pid`: only that one; 0: all. 0, or -ENOMEM, or what opening /proc says. To be freed by the next, also after an
// error.
int co_live_ranks_find(struct co_live_ranks *found, int pid);
void co_live_ranks_free(struct co_live_ranks *found);

#endif
