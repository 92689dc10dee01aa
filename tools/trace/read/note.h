// SPDX-License-Identifier: BSD-3-Clause
//
// What is wrong with a trace: the first thing, where, and how often there was something. Cold.
#ifndef CASTOFF_TOOLS_TRACE_READ_NOTE_H
#define CASTOFF_TOOLS_TRACE_READ_NOTE_H

#include <stdint.h>

enum { CO_NOTE_MAX = 200 };

struct co_note {
    unsigned count;
    uint64_t offset; // byte in the file
    char why[CO_NOTE_MAX];
};

// Only the first is kept.
void co_note_add(struct co_note *note, uint64_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
