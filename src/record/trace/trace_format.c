// SPDX-License-Identifier: BSD-3-Clause
//
// The table of the kinds of records, taken apart at first use, and what a header may say. Not hot: writers and readers
// keep pointers to rows.
#include "record/trace/trace_format.h"

#include <pthread.h>
#include <string.h>

struct source {
    const char *name;
    enum co_trace_family family;
    const char *fields;
};

#define CO_TRACE_CALL(name, family, fields) {"MPI_" #name, CO_TRACE_FAMILY_##family, fields},
#define CO_TRACE_MARK(name, fields) {#name, CO_TRACE_FAMILY_MARK, fields},
static const struct source sources[CO_TRACE_KIND_COUNT] = {
#include "record/trace/trace_kinds.h"
};
#undef CO_TRACE_CALL
#undef CO_TRACE_MARK

struct co_trace_row co_trace_rows[CO_TRACE_KIND_COUNT];
_Atomic bool co_trace_rows_are_there;

static uint32_t handles_of(const char *letters)
{
    uint32_t bits = 0;
    for (unsigned i = 0; letters[i] != '\0'; i++) {
        bits |= (uint32_t)(letters[i] == 'r' || letters[i] == 'm') << i;
    }
    return bits;
}

static void take_apart(struct co_trace_row *row, const struct source *source)
{
    char *out = row->asked;
    row->name = source->name;
    row->family = source->family;
    for (const char *letter = source->fields; *letter != '\0'; letter++) {
        if (*letter == '|') {
            out = row->told;
        } else if (*letter == ':') {
            out = row->columns;
            row->has_list = 1;
        } else if (*letter == 's') {
            row->has_text = 1;
        } else {
            *out++ = *letter;
        }
    }
    row->asked_count = (uint8_t)strlen(row->asked);
    row->told_count = (uint8_t)strlen(row->told);
    row->column_count = (uint8_t)strlen(row->columns);
    row->asked_handles = handles_of(row->asked);
    row->told_handles = handles_of(row->told);
    row->column_handles = handles_of(row->columns);
}

static void take_all_apart(void)
{
    for (unsigned kind = 0; kind < CO_TRACE_KIND_COUNT; kind++) {
        take_apart(&co_trace_rows[kind], &sources[kind]);
    }
    co_store_release(&co_trace_rows_are_there, true); // release W1: the rows
}

void co_trace_rows_make(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, take_all_apart);
}

const char *co_trace_field_name(char letter)
{
    static const char *const names[128] = {
        ['a'] = "from",           ['b'] = "bytes",         ['c'] = "comm",      ['d'] = "with_tag",
        ['e'] = "new_comm",       ['f'] = "parent",        ['g'] = "tag",       ['h'] = "first",
        ['i'] = "index",          ['j'] = "rank",          ['k'] = "of",        ['l'] = "step",
        ['m'] = "message",        ['n'] = "count",         ['o'] = "root",      ['p'] = "peer",
        ['q'] = "made_by",        ['r'] = "request",       ['t'] = "type",      ['u'] = "size",
        ['v'] = "between_groups", ['w'] = "offset",        ['x'] = "cancelled", ['y'] = "ranks",
        ['z'] = "size",           ['N'] = "receive_count", ['P'] = "source",    ['G'] = "receive_tag",
        ['T'] = "receive_type"};
    const char *name = names[(unsigned char)letter & 127];
    return name != NULL ? name : "?";
}

const char *co_trace_header_fault(const struct co_trace_header *header, uint64_t size)
{
    if (size < sizeof *header || memcmp(header->magic, CO_TRACE_MAGIC, sizeof header->magic) != 0) {
        return size == 0 ? "the file is empty" : "the file does not begin as a trace of castoff's does";
    }
    if (header->byte_order != CO_TRACE_BYTE_ORDER) {
        return header->byte_order == __builtin_bswap32(CO_TRACE_BYTE_ORDER)
                   ? "it was written on a machine of the other byte order"
                   : "its byte order is none";
    }
    if (header->version != CO_TRACE_VERSION) {
        return "it is of another version of the format";
    }
    if (header->header_bytes < sizeof *header || header->block_bytes <= sizeof(struct co_trace_block) ||
        header->header_bytes > 1 << 20 || header->block_bytes > 1 << 26) {
        return "its header gives sizes that cannot be";
    }
    return NULL;
}
