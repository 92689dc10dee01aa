// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a trace, any bytes: what is whole is given, what is not is named. Records come so that what begins something
// stands before what ends it: completions by the time they were entered, everything else by the time it returned. So a
// completed request is always the last one before that had this handle. One thread.
#ifndef CASTOFF_TRACE_FILE_H
#define CASTOFF_TRACE_FILE_H

#include <stdbool.h>

#include "trace/trace_record.h"

enum { CO_TRACE_WHY_MAX = 160 };

struct co_trace_place {
    uint64_t sequence;
    size_t offset;
    uint32_t stream;
};

struct co_trace_cursor {
    size_t place, end; // of the stream's blocks; `place` is being read
    size_t at, limit;  // in the file
    struct co_trace_state state;
    bool has_record, is_given, is_end_given;
    struct co_trace_record record;
    int64_t (*rows)[CO_TRACE_COLUMNS_MAX];
};

struct co_trace_file {
    const uint8_t *bytes;
    size_t size;
    struct co_trace_header header; // texts end
    struct co_trace_place *places; // by stream and sequence
    size_t place_count;
    struct co_trace_cursor *cursors;
    size_t cursor_count;
    // What was not whole: how often, and where and what the first time.
    unsigned damages;
    size_t damage_offset;
    const char *damage;
};

// `bytes` stay the caller's and must stay. 0; -EINVAL: no trace, `why` says; -ENOMEM.
int co_trace_file_open(struct co_trace_file *file, const uint8_t *bytes, size_t size, char why[CO_TRACE_WHY_MAX]);
void co_trace_file_close(struct co_trace_file *file);

// The next record, valid until the next call; NULL: that was all.
const struct co_trace_record *co_trace_file_next(struct co_trace_file *file);

#endif
