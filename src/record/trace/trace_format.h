// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of a trace of calls, one file for each rank; docs/trace-format.md draws it. Header, then blocks of one
// size. A block belongs to one stream, which one thread at a time writes, and can be read alone. Numbers stand in the
// byte order of the machine that wrote them, which the header tells; records are bytes and know no order.
#ifndef CASTOFF_RECORD_TRACE_FORMAT_H
#define CASTOFF_RECORD_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"

#define CO_TRACE_MAGIC "castoff trace\n\0" // with the end of the string 16 bytes
#define CO_TRACE_VERSION 1
#define CO_TRACE_BYTE_ORDER UINT32_C(0x01020304)
#define CO_TRACE_HEADER_BYTES 4096
#define CO_TRACE_BLOCK_BYTES 65536
#define CO_TRACE_BLOCK_MAGIC UINT32_C(0x6b6c4274) // "tBlk"

enum { CO_TRACE_VALUES_MAX = 16, CO_TRACE_COLUMNS_MAX = 8, CO_TRACE_ROWS_MAX = 128, CO_TRACE_TEXT_MAX = 128 };

// In place of what nobody could ask for.
#define CO_TRACE_NOT_KNOWN INT32_MIN

// In place of the handle of a request that was complete when it was made: MPI has one handle for all of those.
#define CO_TRACE_COMPLETE 1

// How the recording ended.
enum co_trace_end {
    CO_TRACE_OPEN,   // not yet, or the process was killed
    CO_TRACE_CLOSED, // MPI_Finalize is in it
    CO_TRACE_STOPPED // no more room on the disk
};

struct co_trace_header {
    char magic[16];
    uint32_t byte_order, version;
    uint32_t header_bytes, block_bytes;
    uint32_t rank, size; // in MPI_COMM_WORLD
    uint32_t process, thread_level;
    uint64_t began_ns;      // on the clock of all times in the file
    uint64_t began_wall_ns; // the same moment, since 1970
    uint64_t job;           // the same on all ranks that were started together
    uint32_t end;           // enum co_trace_end
    uint32_t reserved;
    char host[64], library[128], program[256];
};

struct co_trace_block {
    uint32_t magic, stream;
    uint64_t sequence; // in its stream, from 0
    uint64_t base_ns;  // the first record counts from here
    uint32_t used;     // bytes of records behind this head; written last
    // The call that its thread is in, or NOTHING.
    uint32_t inside;
    uint64_t inside_since_ns;
    // The same look in vain over and over: a record at `used`, that counts while repeats_at says the same.
    uint32_t repeats_at, reserved;
    uint64_t repeats, repeats_end_ns;
    uint8_t unused[64];
};

_Static_assert(sizeof(struct co_trace_header) == 16 + 8 * 4 + 3 * 8 + 2 * 4 + 64 + 128 + 256, "no hole");
_Static_assert(offsetof(struct co_trace_header, began_ns) == 48, "drawn in docs/trace-format.md");
_Static_assert(offsetof(struct co_trace_header, host) == 80, "drawn in docs/trace-format.md");
_Static_assert(sizeof(struct co_trace_block) == 128, "drawn in docs/trace-format.md");
_Static_assert(offsetof(struct co_trace_block, used) == 24, "drawn in docs/trace-format.md");
_Static_assert(offsetof(struct co_trace_block, repeats) == 48, "drawn in docs/trace-format.md");

#define CO_TRACE_CALL(name, family, fields) CO_TRACE_##name,
#define CO_TRACE_MARK(name, fields) CO_TRACE_##name,
enum co_trace_kind {
#include "record/trace/trace_kinds.h"
    CO_TRACE_KIND_COUNT
};
#undef CO_TRACE_CALL
#undef CO_TRACE_MARK

enum co_trace_family {
    CO_TRACE_FAMILY_MARK,
    CO_TRACE_FAMILY_LIFE,
    CO_TRACE_FAMILY_SEND,
    CO_TRACE_FAMILY_RECEIVE,
    CO_TRACE_FAMILY_SENDRECV,
    CO_TRACE_FAMILY_PROBE,
    CO_TRACE_FAMILY_MATCHED,
    CO_TRACE_FAMILY_PERSISTENT,
    CO_TRACE_FAMILY_START,
    CO_TRACE_FAMILY_REQUEST,
    CO_TRACE_FAMILY_COMPLETION,
    CO_TRACE_FAMILY_COLLECTIVE,
    CO_TRACE_FAMILY_COMMUNICATOR,
    CO_TRACE_FAMILY_ONE_SIDED,
    CO_TRACE_FAMILY_FILE,
    CO_TRACE_FAMILY_OTHER
};

struct co_trace_row {
    const char *name; // "MPI_Send"
    enum co_trace_family family;
    char asked[CO_TRACE_VALUES_MAX + 1]; // letters, without 's'
    char told[CO_TRACE_VALUES_MAX + 1];
    char columns[CO_TRACE_COLUMNS_MAX + 1];
    uint8_t asked_count, told_count, column_count;
    uint8_t has_list, has_text;
    uint32_t asked_handles, told_handles, column_handles; // bits of those that are handles
};

extern struct co_trace_row co_trace_rows[CO_TRACE_KIND_COUNT];
extern _Atomic bool co_trace_rows_are_there;
void co_trace_rows_make(void);

// Row of a kind below CO_TRACE_KIND_COUNT.
static inline const struct co_trace_row *co_trace_row(unsigned kind)
{
    if (!co_load_acquire(&co_trace_rows_are_there)) { // acquire W1
        co_trace_rows_make();
    }
    return &co_trace_rows[kind];
}

// What a letter stands for: "count", "tag", ...
const char *co_trace_field_name(char letter);

// A record's flags.
enum {
    CO_TRACE_FAILED = 1,    // MPI gave an error; its code follows
    CO_TRACE_NESTED = 2,    // inside another call: in a callback of the program, or by MPI's own upper layers
    CO_TRACE_IN_VAIN = 4,   // a test or probe that found nothing: how often follows, and what it told is missing
    CO_TRACE_CONTINUED = 8, // more rows of the record before it in the stream; no values
    CO_TRACE_FLAGS_ALL = 15
};

// One record in the open. Values stand in the order of the row's letters.
struct co_trace_record {
    uint16_t kind;
    uint8_t flags;
    uint8_t is_unfinished; // read only: the call had begun when the trace ended
    uint16_t row_count;
    uint16_t text_bytes;
    uint32_t error;
    uint32_t stream; // read only
    uint64_t begin_ns, end_ns;
    uint64_t times; // of a look in vain
    int64_t value[CO_TRACE_VALUES_MAX];
    int64_t (*rows)[CO_TRACE_COLUMNS_MAX];
    const char *text;
};

// Of a file's first `size` bytes: why they are no header, or not one that can be read here; NULL: they are.
const char *co_trace_header_fault(const struct co_trace_header *header, uint64_t size);

#endif
