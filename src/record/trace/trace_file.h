// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a trace, any bytes: what is whole is given, what is not is named. Records come so that what begins something
// stands before what ends it: completions by the time they were entered, everything else by the time it returned. So a
// completed request is always the last one before that had this handle. Of a file, what is in memory is a block for
// each stream that has begun and not ended, of which there are CO_TRACE_LIVE_MAX at most, and its record, together
// CO_TRACE_LIVE_BYTES_MAX at most, and 32 bytes for every block; a record costs a logarithm of the streams. One thread.
#ifndef CASTOFF_RECORD_TRACE_FILE_H
#define CASTOFF_RECORD_TRACE_FILE_H

#include <stdbool.h>

#include "record/trace/trace_record.h"
#include "record/trace/trace_source.h"

enum { CO_TRACE_WHY_MAX = 160, CO_TRACE_LIVE_MAX = 1 << 16, CO_TRACE_LIVE_BYTES_MAX = 256 << 20 };

struct co_trace_place {
    uint64_t sequence, offset, base_ns;
    uint32_t stream;
};

struct co_trace_cursor {
    size_t place, end; // of the stream's blocks; `place` is being read
    const uint8_t *block;
    size_t size, at, limit; // of the block, as much as there is; next byte, and behind the last record, in it
    uint8_t *room;          // for a block; NULL: in memory it is anyway
    struct co_trace_state state;
    bool has_record, is_end_given;
    struct co_trace_record record;
    int64_t (*rows)[CO_TRACE_COLUMNS_MAX]; // of the record
    size_t row_room;
};

struct co_trace_read_stream {
    size_t place, end;              // its blocks
    uint64_t due_ns;                // of its record; before it has begun, no later than that of its first one
    struct co_trace_cursor *cursor; // NULL: it has not begun
};

struct co_trace_file {
    struct co_trace_source source;
    struct co_trace_header header; // texts end
    struct co_trace_place *places; // by stream and sequence
    size_t place_count;
    struct co_trace_read_stream *streams;
    struct co_trace_read_stream **heap; // by due_ns, then by stream: those that have not ended
    size_t stream_count, heap_count, live;
    size_t live_bytes;   // of blocks and rows
    bool is_first_given; // the first of the heap
    int64_t rows[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX];
    // What was not whole: how often, and where and what the first time.
    unsigned damages;
    uint64_t damage_offset;
    const char *damage;
};

// 0; -EINVAL: no trace; -ENOMEM; -errno: it cannot be opened. `why` says it.
int co_trace_file_open(struct co_trace_file *file, const char *path, char why[CO_TRACE_WHY_MAX]);
// `bytes` stay the caller's and must stay.
int co_trace_file_open_bytes(struct co_trace_file *file, const uint8_t *bytes, size_t size, char why[CO_TRACE_WHY_MAX]);
void co_trace_file_close(struct co_trace_file *file);

// The next record, valid until the next call; NULL: that was all.
const struct co_trace_record *co_trace_file_next(struct co_trace_file *file);

#endif
