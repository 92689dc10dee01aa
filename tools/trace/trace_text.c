// SPDX-License-Identifier: BSD-3-Clause
//
// A line for each record: times, name, fields by name, rows in brackets. Cold.
#include "trace_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void co_trace_text_open(struct co_trace_text *text, const struct co_trace_file *file, bool shows_times)
{
    text->shows_times = shows_times;
    text->began_ns = file->header.began_ns;
    co_trace_links_open(&text->links);
    co_hash_map_open(&text->types);
    co_hash_map_open(&text->communicators);
}

void co_trace_text_close(struct co_trace_text *text)
{
    co_trace_links_close(&text->links);
    co_hash_map_close_free(&text->types);
    co_hash_map_close_free(&text->communicators);
}

// Names come from the traced program: what would disturb a terminal is left out.
static void keep_name(struct co_hash_map *names, const struct co_trace_record *record)
{
    struct co_trace_name *name = record->text_bytes == 0 ? NULL : calloc(1, sizeof *name);
    if (name == NULL) {
        return;
    }
    for (size_t i = 0; i < record->text_bytes; i++) {
        char letter = record->text[i];
        name->text[i] = (char)(letter > ' ' && letter < 127 ? letter : '_');
    }
    if (co_hash_map_put(names, (uint64_t)record->value[0], name) != 0) {
        free(name);
    }
}

static void print_named(FILE *stream, const struct co_hash_map *names, int64_t number)
{
    const struct co_trace_name *name = number <= 0 ? NULL : co_hash_map_get(names, (uint64_t)number);
    if (name != NULL) {
        fputs(name->text, stream);
    } else {
        fprintf(stream, "%" PRId64, number);
    }
}

// The number of a handle that a record makes (`kind`) or names (NOTHING).
static void print_handle(struct co_trace_text *text, FILE *stream, int64_t handle, enum co_trace_kind kind)
{
    uint64_t number = kind != CO_TRACE_NOTHING ? co_trace_links_make(&text->links, (uint64_t)handle, kind)
                                               : co_trace_links_find(&text->links, (uint64_t)handle).number;
    if (handle == CO_TRACE_COMPLETE) {
        fputs("complete", stream);
    } else if (number == 0) {
        fputs(handle == 0 ? "null" : "unknown", stream);
    } else {
        fprintf(stream, "%" PRIu64, number);
    }
}

// What MPI's constants are in Open MPI, by the letters of the fields that can hold them.
static const char *constant(char letter, int64_t value)
{
    if (value == CO_TRACE_NOT_KNOWN) {
        return "unknown";
    }
    if (value == -1 && strchr("pPgGad", letter) != NULL) {
        return "any";
    }
    if (value == -2 && strchr("pPao", letter) != NULL) {
        return "none";
    }
    return value == -4 && letter == 'o' ? "self" : NULL;
}

static void print_value(struct co_trace_text *text, FILE *stream, char letter, int64_t value, enum co_trace_kind makes)
{
    const char *word = constant(letter, value);
    fprintf(stream, "%s=", co_trace_field_name(letter));
    if (word != NULL) {
        fputs(word, stream);
    } else if (letter == 'r' || letter == 'm') {
        print_handle(text, stream, value, makes);
    } else if (letter == 't' || letter == 'T') {
        print_named(stream, &text->types, value);
    } else if (letter == 'c' || letter == 'e' || letter == 'f') {
        print_named(stream, &text->communicators, value);
    } else if (letter == 'q') {
        fputs(value > 0 && value < CO_TRACE_KIND_COUNT ? co_trace_row((unsigned)value)->name : "unknown", stream);
    } else {
        fprintf(stream, "%" PRId64, value);
    }
}

// What MPI leaves in the status of anything but a receive means nothing.
static bool is_status(char letter)
{
    return strchr("adbx", letter) != NULL;
}

static bool is_receive(const struct co_trace_text *text, int64_t handle)
{
    return co_trace_receives(co_trace_links_find(&text->links, (uint64_t)handle).kind);
}

static void print_asked(struct co_trace_text *text, FILE *stream, const struct co_trace_row *row,
                        const struct co_trace_record *record)
{
    for (unsigned i = 0; i < row->asked_count; i++) {
        fputc(' ', stream);
        print_value(text, stream, row->asked[i], record->value[i], CO_TRACE_NOTHING);
    }
}

static void print_told(struct co_trace_text *text, FILE *stream, const struct co_trace_row *row,
                       const struct co_trace_record *record)
{
    bool hides = row->asked[0] == 'r' && !is_receive(text, record->value[0]);
    for (unsigned i = 0; i < row->told_count; i++) {
        if (!hides || !is_status(row->told[i])) {
            fputc(' ', stream);
            print_value(text, stream, row->told[i], record->value[row->asked_count + i], record->kind);
        }
    }
}

static void print_rows(struct co_trace_text *text, FILE *stream, const struct co_trace_row *row,
                       const struct co_trace_record *record)
{
    for (unsigned i = 0; i < record->row_count; i++) {
        const int64_t *cells = record->rows[i];
        bool hides = row->columns[1] == 'r' && !is_receive(text, cells[1]);
        fputs(" {", stream);
        for (unsigned column = 0; column < row->column_count; column++) {
            if (!hides || !is_status(row->columns[column])) {
                fputs(column == 0 ? "" : " ", stream);
                print_value(text, stream, row->columns[column], cells[column], CO_TRACE_NOTHING);
            }
        }
        fputc('}', stream);
    }
}

static void print_time(FILE *stream, uint64_t from_ns, uint64_t to_ns)
{
    bool is_before = to_ns < from_ns; // the call that initialised MPI began before the trace did
    uint64_t ns = is_before ? from_ns - to_ns : to_ns - from_ns;
    fprintf(stream, "%s%" PRIu64 ".%09" PRIu64 " ", is_before ? "-" : "", ns / 1000000000, ns % 1000000000);
}

static void print_head(const struct co_trace_text *text, FILE *stream, const struct co_trace_row *row,
                       const struct co_trace_record *record)
{
    if (text->shows_times) {
        print_time(stream, text->began_ns, record->begin_ns);
        print_time(stream, record->begin_ns, record->end_ns);
        fprintf(stream, "thread %" PRIu32 " ", record->stream);
    }
    fputs(row->name, stream);
    if ((record->flags & CO_TRACE_CONTINUED) != 0) {
        fputs(" (continued)", stream);
    }
    if ((record->flags & CO_TRACE_NESTED) != 0) {
        fputs(" (inside another call)", stream);
    }
    if ((record->flags & CO_TRACE_FAILED) != 0) {
        fprintf(stream, " (error %" PRIu32 ")", record->error);
    }
}

void co_trace_text_print(struct co_trace_text *text, FILE *stream, const struct co_trace_record *record)
{
    const struct co_trace_row *row = co_trace_row(record->kind);
    bool has_values = (record->flags & CO_TRACE_CONTINUED) == 0 && !record->is_unfinished;
    bool is_vain = (record->flags & CO_TRACE_IN_VAIN) != 0;
    print_head(text, stream, row, record);
    if (record->is_unfinished) {
        fputs(" not finished\n", stream);
        return;
    }
    if (has_values) {
        print_asked(text, stream, row, record);
        if (!is_vain) {
            print_told(text, stream, row, record);
        }
    }
    if (is_vain) {
        fprintf(stream, " in vain times=%" PRIu64, record->times);
    } else if (row->has_text && record->text_bytes > 0) {
        keep_name(record->kind == CO_TRACE_TYPE ? &text->types : &text->communicators, record);
        fputs(" name=", stream);
        print_named(stream, record->kind == CO_TRACE_TYPE ? &text->types : &text->communicators, record->value[0]);
    }
    print_rows(text, stream, row, record);
    fputc('\n', stream);
}
