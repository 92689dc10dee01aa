// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a trace. The file is mapped block by block, so that what was written is there whatever becomes of the process;
// a block's room on the disk is reserved before it is touched. A stream is written by one thread at a time and knows
// no lock; streams come and go by way of a list. Memory: a block for each stream. Writing is hot.
#ifndef CASTOFF_RECORD_TRACE_WRITER_H
#define CASTOFF_RECORD_TRACE_WRITER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/atomics.h"
#include "record/trace/trace_record.h"

struct co_trace_writer {
    int file;
    _Atomic bool is_open; // false: full, or closed
    _Atomic uint32_t blocks;
    struct co_trace_header *header; // mapped
    pthread_mutex_t lock;           // of what follows
    struct co_trace_stream *streams, *idle;
    uint32_t stream_count;
};

struct co_trace_stream {
    struct co_trace_writer *writer;
    struct co_trace_block *block; // mapped
    uint32_t block_index;
    uint32_t number;
    uint32_t used;
    uint64_t sequence;
    struct co_trace_state state;
    struct co_trace_record vain; // while vain.times is not 0
    struct co_trace_stream *next, *next_idle;
};

// `header`: all but how the file is laid out, which is filled in here. 0 or -errno; always a new file: what has the
// name loses it.
int co_trace_writer_open(struct co_trace_writer *writer, const char *path, const struct co_trace_header *header);
// After the last record. `end`: one of enum co_trace_end.
void co_trace_writer_close(struct co_trace_writer *writer, enum co_trace_end end);
// When no thread has a stream any more. Without it a closed writer keeps a block for each stream mapped.
void co_trace_writer_free(struct co_trace_writer *writer);

static inline bool co_trace_writer_is_open(const struct co_trace_writer *writer)
{
    // relaxed: a block of a stream stays mapped, so that who sees the end late does no harm.
    return co_load_relaxed(&writer->is_open);
}

// One that nobody uses; NULL: there is no memory, or no room.
struct co_trace_stream *co_trace_stream_take(struct co_trace_writer *writer, uint64_t now_ns);
void co_trace_stream_give(struct co_trace_stream *stream);

// A call has begun: what a reader sees of it when the process ends inside. Returns what it was in before.
static inline uint32_t co_trace_stream_enter(struct co_trace_stream *stream, uint32_t kind, uint64_t now_ns)
{
    struct co_trace_block *block = stream->block;
    uint32_t before = block->inside;
    block->inside_since_ns = now_ns;
    // So that the time is there first; nobody else reads before the process has ended.
    atomic_signal_fence(memory_order_release);
    block->inside = kind;
    return before;
}

static inline void co_trace_stream_leave(struct co_trace_stream *stream, uint32_t before)
{
    stream->block->inside = before;
}

// Appends a record. With IN_VAIN and the same values as the one before, and nothing between, it only counts.
void co_trace_stream_put(struct co_trace_stream *stream, const struct co_trace_record *record);

#endif
