// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's memory that is an array of the test: the reference for windows, and what the simulation of proxies lends. It
// tells the test of each byte that is touched. One thread.
#ifndef CASTOFF_TESTS_OFFLOAD_MEMORY_WINDOW_H
#define CASTOFF_TESTS_OFFLOAD_MEMORY_WINDOW_H

#include <stddef.h>

#include "offload/rank_window.h"

struct memory_window {
    struct co_rank_window window; // the first
    unsigned char *memory;
    uint64_t base, bytes; // addresses [base, base + bytes) are the rank's
    int loans;            // that are not closed
    void *context;
    // Before bytes are read or written, if it is there. Other than 0: the error of that access.
    int (*touch)(void *context, uint64_t address, uint64_t bytes, bool is_write);
};

void memory_window_open(struct memory_window *window, unsigned char *memory, uint64_t base, uint64_t bytes);

#endif
