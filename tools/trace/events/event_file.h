// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's events in a file: written once while its trace is parsed, then read again and again, a part of it at a time.
// The same file is the cache that makes the second analysis fast: its head says which trace it was made from, and is
// written last. The bytes are this machine's; another one's, or another version's, is made anew. One thread for each.
#ifndef CASTOFF_TOOLS_TRACE_EVENTS_EVENT_FILE_H
#define CASTOFF_TOOLS_TRACE_EVENTS_EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/trace/read/call.h"
#include "tools/trace/events/event.h"
#include "tools/trace/read/note.h"

#define CO_EVENT_MAGIC "castoff events\n" // with the end of the string 16 bytes
#define CO_EVENT_VERSION 3
#define CO_EVENT_BYTE_ORDER UINT32_C(0x01020304)

struct co_event_head {
    char magic[16];
    uint32_t byte_order, version, call_count, format;
    uint64_t trace_bytes, trace_changed_ns; // of the file that it was made from
    uint64_t job;                           // of castoff's own traces
    uint64_t events;
    int32_t rank, size; // as the trace tells; -1: it does not
    uint32_t is_partial, receives;
    uint32_t trace_version, unused; // a byte for each part of it
    uint64_t from_anybody;          // receives and probes with MPI_ANY_SOURCE
    uint64_t begin_ns, end_ns;      // first and last call, on the rank's clock
    uint64_t calls[CO_CALL_COUNT];
    struct co_note note;
};

struct co_event_writer {
    struct co_event_head head;
    struct co_event *buffer;
    size_t buffered;
    int directory, file;
    int error; // the first, -errno; what comes after it goes nowhere
};

// A new file `name` in `directory`, a descriptor that stays open as long as the writer; -EEXIST: there is something of
// that name, which is left as it is, whatever it leads to.
int co_event_writer_open(struct co_event_writer *writer, int directory, const char *name);
// Its position, for co_event_writer_patch.
uint64_t co_event_writer_add(struct co_event_writer *writer, const struct co_event *event);
// What a receive that was posted at `position` has got; `op` in place of its own.
void co_event_writer_patch(struct co_event_writer *writer, uint64_t position, unsigned op, int32_t source, int32_t tag);
// 0 or -errno; then there is no file.
int co_event_writer_close(struct co_event_writer *writer, const char *name);

struct co_event_reader {
    int directory; // the caller's, and below
    const char *name;
    struct co_event *buffer;
    size_t at, count; // in the buffer
    uint64_t next, events;
    uint64_t inode;  // of the first part; 0: none was read
    bool is_damaged; // the file is another one than it was, or shorter, or holds what is no event
};

// False: there is none, or not a whole one of this version.
bool co_event_head_read(int directory, const char *name, struct co_event_head *head);
int co_event_reader_open(struct co_event_reader *reader, int directory, const char *name, uint64_t events);
void co_event_reader_close(struct co_event_reader *reader);
bool co_event_reader_more(struct co_event_reader *reader);

// The next event, without moving on, or NULL at the end. It holds until the reader moves on.
static inline const struct co_event *co_event_reader_peek(struct co_event_reader *reader)
{
    return reader->at < reader->count || co_event_reader_more(reader) ? &reader->buffer[reader->at] : NULL;
}

static inline void co_event_reader_move_on(struct co_event_reader *reader)
{
    reader->at++;
}

#endif
