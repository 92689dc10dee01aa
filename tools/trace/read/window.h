// SPDX-License-Identifier: BSD-3-Clause
//
// A file, or bytes in memory, read through a window that moves forward: only what is being looked at is in memory. One
// thread. Hot: the readers look at every byte.
#ifndef CASTOFF_TOOLS_TRACE_READ_WINDOW_H
#define CASTOFF_TOOLS_TRACE_READ_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CO_WINDOW_BYTES = 1 << 20, CO_WINDOW_BYTES_MAX = 1 << 26 };

struct co_window {
    const uint8_t *bytes; // what is in sight
    size_t at, end;       // next byte, and behind the last, in `bytes`
    uint64_t begin;       // of `bytes` in the file
    uint64_t size;        // of the file
    uint8_t *memory;      // NULL: all of it is in sight
    size_t room;
    int file;
    int error; // of the last read, -errno
};

// 0 or -errno.
int co_window_open(struct co_window *window, const char *path);
void co_window_open_bytes(struct co_window *window, const uint8_t *bytes, size_t size);
void co_window_close(struct co_window *window);

// Moves to a place in the file. False: it has no such place, or cannot be read.
bool co_window_seek(struct co_window *window, uint64_t offset);
// Makes at least so many bytes from `at` on visible, or all that there are: false. Pointers into it move.
bool co_window_more(struct co_window *window, size_t bytes);

static inline uint64_t co_window_offset(const struct co_window *window)
{
    return window->begin + window->at;
}

static inline bool co_window_has(struct co_window *window, size_t bytes)
{
    return window->end - window->at >= bytes || co_window_more(window, bytes);
}

#endif
