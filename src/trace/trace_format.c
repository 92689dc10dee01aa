// SPDX-License-Identifier: BSD-3-Clause
//
// The table of the kinds of records, taken apart at first use. Not hot:
// writers and readers keep pointers to rows.
#include "trace/trace_format.h"

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
#include "trace/trace_kinds.h"
};
#undef CO_TRACE_CALL
#undef CO_TRACE_MARK

static struct co_trace_row rows[CO_TRACE_KIND_COUNT];
static pthread_once_t rows_once = PTHREAD_ONCE_INIT;

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
}

static void take_all_apart(void)
{
    for (unsigned kind = 0; kind < CO_TRACE_KIND_COUNT; kind++) {
        take_apart(&rows[kind], &sources[kind]);
    }
}

const struct co_trace_row *co_trace_row(unsigned kind)
{
    pthread_once(&rows_once, take_all_apart);
    return &rows[kind];
}

const char *co_trace_field_name(char letter)
{
    static const char *const names[128] = {
        ['a'] = "from",           ['b'] = "bytes",     ['c'] = "comm",        ['d'] = "with_tag",
        ['e'] = "new_comm",       ['f'] = "parent",    ['g'] = "tag",         ['h'] = "first",
        ['i'] = "index",          ['j'] = "rank",      ['k'] = "of",          ['l'] = "step",
        ['m'] = "message",        ['n'] = "count",     ['o'] = "root",        ['p'] = "peer",
        ['q'] = "made_by",        ['r'] = "request",   ['t'] = "type",        ['u'] = "size",
        ['v'] = "between_groups", ['x'] = "cancelled", ['y'] = "ranks",       ['z'] = "size",
        ['N'] = "receive_count",  ['P'] = "source",    ['G'] = "receive_tag", ['T'] = "receive_type"};
    const char *name = names[(unsigned char)letter & 127];
    return name != NULL ? name : "?";
}
