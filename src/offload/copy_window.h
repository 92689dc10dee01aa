// SPDX-License-Identifier: BSD-3-Clause
//
// A window into the copies of a rank (segment_memory.h): what it has to send stands there before it says so, and what
// comes it fetches from there when the call is over (rank/rank_copies.c). For where the kernel lets nobody look into
// another process. One thread; hot.
#ifndef CASTOFF_OFFLOAD_COPY_WINDOW_H
#define CASTOFF_OFFLOAD_COPY_WINDOW_H

#include "offload/rank_window.h"

struct co_copy_window {
    struct co_rank_window window; // the first
    int file;                     // a segment with copies; whose it is stays the caller's business
};

void co_copy_window_open(struct co_copy_window *copy, int file);

#endif
