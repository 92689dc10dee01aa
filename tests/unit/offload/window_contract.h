// SPDX-License-Identifier: BSD-3-Clause
//
// One set of tests for what src/offload/rank_window.h promises, run on every window.
#ifndef CASTOFF_TESTS_OFFLOAD_WINDOW_CONTRACT_H
#define CASTOFF_TESTS_OFFLOAD_WINDOW_CONTRACT_H

#include <stddef.h>

#include "offload/rank_window.h"

// A window, and the memory that it reaches: [address, address + bytes) is where `memory` stands, and nothing behind.
struct window_rig {
    struct co_rank_window *window;
    unsigned char *memory;
    uint64_t address, bytes;  // 256 at least
    bool is_written_at_flush; // what is written reaches the rank then, and not before
};

// Fails as cmocka does.
void window_contract_check(const struct window_rig *rig);

#endif
