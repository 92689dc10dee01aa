// SPDX-License-Identifier: BSD-3-Clause
//
// A block of bytes in the program's memory.
#ifndef CASTOFF_BASE_BLOCK_H
#define CASTOFF_BASE_BLOCK_H

#include <stddef.h>

struct co_block {
    void *buffer;
    size_t bytes;
};

#endif
