// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a trace: refused with a reason, or records that end, each of which has bytes that mean the same again.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/trace/trace_file.h"
#include "record/trace/trace_links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { ROOM = 65536 };

static void write_again(const struct co_trace_record *record)
{
    static uint8_t out[ROOM];
    static int64_t rows[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX];
    struct co_trace_state there = {.time_ns = 0}, back = there;
    struct co_trace_record again;
    size_t length = co_trace_encode(record, &there, out, sizeof out);
    if (length == 0 || co_trace_decode(&again, &back, rows, out, length) != (long)length ||
        again.kind != record->kind || again.flags != record->flags || again.begin_ns != record->begin_ns ||
        again.end_ns != record->end_ns || again.row_count != record->row_count ||
        again.text_bytes != record->text_bytes || memcmp(again.text, record->text, record->text_bytes) != 0) {
        abort();
    }
}

static void link(struct co_trace_links *links, const struct co_trace_record *record)
{
    const struct co_trace_row *row = co_trace_row(record->kind);
    if (row->told_count > 0 && row->told[0] == 'r' && record->flags == 0) {
        uint64_t handle = (uint64_t)record->value[row->asked_count];
        uint64_t number = co_trace_links_make(links, handle, record->kind);
        uint64_t found = co_trace_links_find(links, handle).number;
        if ((handle != CO_TRACE_COMPLETE && number != found) || (number == 0) != (handle == 0)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct co_trace_file file;
    struct co_trace_links links;
    char why[CO_TRACE_WHY_MAX] = "";
    const struct co_trace_record *record;
    size_t records = 0;
    uint8_t *copy = malloc(bytes ? bytes : 1); // exactly as long, so that reading on is seen

    memcpy(copy, data, bytes);
    int result = co_trace_file_open_bytes(&file, copy, bytes, why);
    if (result != 0) {
        if (result != -EINVAL || why[0] == '\0') {
            abort();
        }
        free(copy);
        return 0;
    }
    co_trace_links_open(&links);
    while ((record = co_trace_file_next(&file)) != NULL) {
        if (!record->is_unfinished) {
            write_again(record);
            link(&links, record);
        }
        // Three bytes at least, and what is not finished in each of the blocks.
        if (++records > bytes) {
            abort();
        }
    }
    if ((file.damages == 0) != (file.damage == NULL) || file.damage_offset > bytes) {
        abort();
    }
    co_trace_links_close(&links);
    co_trace_file_close(&file);
    free(copy);
    return 0;
}
