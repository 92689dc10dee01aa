// SPDX-License-Identifier: BSD-3-Clause
//
// Where a trace's bytes come from: memory, or a file that is read piece by piece, so that it may be larger than memory,
// and may change while it is read: pages of a mapped file that somebody cuts off kill the reader. One thread.
#ifndef CASTOFF_RECORD_TRACE_SOURCE_H
#define CASTOFF_RECORD_TRACE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct co_trace_source {
    const uint8_t *bytes; // NULL: a file
    uint64_t size;        // when it was opened
    int file;             // -1: none
};

// A file to read; its size. -EISDIR and -EINVAL: it is none that has one. Does not wait for a pipe's writer. Or -errno.
int co_trace_source_open_regular(const char *path, uint64_t *size);

// 0 or -errno.
int co_trace_source_open(struct co_trace_source *source, const char *path);
// The bytes stay the caller's, and must stay.
void co_trace_source_open_bytes(struct co_trace_source *source, const uint8_t *bytes, size_t size);
void co_trace_source_close(struct co_trace_source *source);

// *bytes from a place on, as many as there are: in memory where they are, otherwise in `room`, which takes *bytes. Less
// than size tells: the file has become shorter, or cannot be read.
const uint8_t *co_trace_source_get(const struct co_trace_source *source, uint64_t offset, size_t *bytes, uint8_t *room);

#endif
