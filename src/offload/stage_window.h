// SPDX-License-Identifier: BSD-3-Clause
//
// A window that stages: the whole message is copied into the proxy's memory before the first byte of it leaves, and is
// put together there before the first byte reaches the rank. It is what cards without access to the host's memory do;
// to compare, and for tests. Where its memory is used up, an operation goes by the window below it, so that no
// operation waits for another one's. One thread; hot.
#ifndef CASTOFF_OFFLOAD_STAGE_WINDOW_H
#define CASTOFF_OFFLOAD_STAGE_WINDOW_H

#include "offload/rank_window.h"

struct co_stage_window {
    struct co_rank_window window; // the first
    struct co_rank_window *below; // reaches the rank's memory
    uint64_t room_bytes;          // for all messages at a time,
    uint64_t used_bytes, high_water_bytes;
    uint64_t messages, passed_by; // staged; no room
};

void co_stage_window_open(struct co_stage_window *stage, struct co_rank_window *below, uint64_t room_bytes);

#endif
