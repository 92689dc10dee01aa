// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the blocks of a trace, sorts them by stream, and merges the streams, each of which has a block in memory.
#include "trace/trace_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(struct co_trace_file *file, uint64_t offset, const char *what)
{
    if (file->damages++ == 0) {
        file->damage_offset = offset;
        file->damage = what;
    }
}

static const char *judge(const struct co_trace_header *header, uint64_t size)
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

static int by_stream(const void *left, const void *right)
{
    const struct co_trace_place *a = left, *b = right;
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    if (a->sequence != b->sequence) {
        return a->sequence < b->sequence ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : 1;
}

static bool add_place(struct co_trace_file *file, size_t *room, uint64_t offset, const struct co_trace_block *block)
{
    if (file->place_count == *room) {
        *room = *room == 0 ? 64 : 2 * *room;
        struct co_trace_place *larger = realloc(file->places, *room * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        file->places = larger;
    }
    file->places[file->place_count++] = (struct co_trace_place){block->sequence, offset, block->stream};
    return true;
}

static int find_blocks(struct co_trace_file *file)
{
    uint64_t step = file->header.block_bytes, size = file->source.size;
    size_t room = 0;
    for (uint64_t offset = file->header.header_bytes; offset < size; offset += step) {
        struct co_trace_block block;
        size_t got = sizeof block;
        const uint8_t *bytes = co_trace_source_get(&file->source, offset, &got, (uint8_t *)&block);
        if (got < sizeof block) {
            note(file, offset, "the file ends in the head of a block");
            break;
        }
        if (bytes != (uint8_t *)&block) {
            memcpy(&block, bytes, sizeof block);
        }
        if (block.magic != CO_TRACE_BLOCK_MAGIC && block.magic != 0) {
            note(file, offset, "there is no block where one should begin");
        } else if (block.magic != 0 && !add_place(file, &room, offset, &block)) {
            return -ENOMEM;
        }
    }
    if (file->place_count > 0) {
        qsort(file->places, file->place_count, sizeof *file->places, by_stream);
    }
    return 0;
}

static int open_cursors(struct co_trace_file *file)
{
    size_t streams = 0;
    for (size_t i = 0; i < file->place_count; i++) {
        streams += i == 0 || file->places[i].stream != file->places[i - 1].stream;
    }
    file->cursors = calloc(streams + 1, sizeof *file->cursors);
    if (file->cursors == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < file->place_count; i++) {
        if (i == 0 || file->places[i].stream != file->places[i - 1].stream) {
            struct co_trace_cursor *cursor = &file->cursors[file->cursor_count++];
            cursor->place = i;
            cursor->rows = malloc(CO_TRACE_ROWS_MAX * sizeof *cursor->rows);
            if (cursor->rows == NULL) {
                return -ENOMEM;
            }
        }
        file->cursors[file->cursor_count - 1].end = i + 1;
    }
    return 0;
}

static struct co_trace_block head_of(const struct co_trace_cursor *cursor)
{
    struct co_trace_block block;
    memcpy(&block, cursor->block, sizeof block);
    return block;
}

// False: it cannot be read.
static bool enter_block(struct co_trace_file *file, struct co_trace_cursor *cursor)
{
    uint64_t offset = file->places[cursor->place].offset;
    size_t whole = file->header.block_bytes, room = whole - sizeof(struct co_trace_block);
    if (cursor->room == NULL && file->source.bytes == NULL && (cursor->room = malloc(whole)) == NULL) {
        note(file, offset, "there is no memory for a block");
        return false;
    }
    cursor->size = whole;
    cursor->block = co_trace_source_get(&file->source, offset, &cursor->size, cursor->room);
    if (cursor->size < sizeof(struct co_trace_block)) {
        note(file, offset, "a block cannot be read");
        return false;
    }
    struct co_trace_block block = head_of(cursor);
    size_t used = block.used;
    cursor->at = sizeof block;
    cursor->state = (struct co_trace_state){.time_ns = block.base_ns};
    if (used > room) {
        note(file, offset, "a block says that it holds more than it can");
        used = room;
    }
    if (used > cursor->size - cursor->at) {
        note(file, offset + cursor->size, "the file ends in a block");
        used = cursor->size - cursor->at;
    }
    cursor->limit = cursor->at + used;
    return true;
}

// The look in vain that was still going on, and the call that was not over. True: a record.
static bool take_open_end(struct co_trace_file *file, struct co_trace_cursor *cursor)
{
    struct co_trace_block block = head_of(cursor);
    struct co_trace_record *record = &cursor->record;
    if (cursor->at == cursor->limit && block.repeats_at == block.used + 1 && block.repeats > 0 &&
        co_trace_decode(record, &cursor->state, cursor->rows, cursor->block + cursor->at, cursor->size - cursor->at) >
            0) {
        record->times = block.repeats;
        record->end_ns = block.repeats_end_ns;
        cursor->at = cursor->limit + 1; // once
        return true;
    }
    bool is_last = cursor->place + 1 == cursor->end && !cursor->is_end_given;
    if (!is_last || file->header.end != CO_TRACE_OPEN || block.inside == CO_TRACE_NOTHING ||
        block.inside >= CO_TRACE_KIND_COUNT ||
        block.inside_since_ns == record->begin_ns) { // it was over, and is recorded
        return false;
    }
    cursor->is_end_given = true;
    memset(record, 0, sizeof *record);
    record->kind = (uint16_t)block.inside;
    record->is_unfinished = 1;
    record->times = 1;
    record->begin_ns = record->end_ns = block.inside_since_ns;
    record->rows = cursor->rows;
    record->text = "";
    return true;
}

// A block that is not whole ends early; the next one of the stream can be read without it.
static bool take_record(struct co_trace_file *file, struct co_trace_cursor *cursor)
{
    if (cursor->at < cursor->limit) {
        cursor->record.is_unfinished = 0;
        long bytes = co_trace_decode(&cursor->record, &cursor->state, cursor->rows, cursor->block + cursor->at,
                                     cursor->limit - cursor->at);
        if (bytes > 0) {
            cursor->at += (size_t)bytes;
            return true;
        }
        note(file, file->places[cursor->place].offset + cursor->at, "a record is not whole, or none");
        cursor->at = cursor->limit + 1;
    }
    return false;
}

static void advance(struct co_trace_file *file, struct co_trace_cursor *cursor)
{
    cursor->has_record = false;
    while (!cursor->has_record && cursor->place < cursor->end) {
        if (cursor->at > 0 || enter_block(file, cursor)) {
            cursor->record.is_unfinished = 0;
            cursor->has_record = take_record(file, cursor) || take_open_end(file, cursor);
        }
        if (!cursor->has_record) {
            cursor->place++;
            cursor->at = 0;
        }
    }
    cursor->record.stream = cursor->has_record ? file->places[cursor->place].stream : 0;
    if (!cursor->has_record) { // of thousands of threads few live at a time
        free(cursor->room);
        cursor->room = NULL;
    }
}

static int refuse(struct co_trace_file *file, char why[CO_TRACE_WHY_MAX], int error, const char *what)
{
    snprintf(why, CO_TRACE_WHY_MAX, "%s", what);
    co_trace_file_close(file);
    return error;
}

// `file` has its source, and nothing else.
static int open_source(struct co_trace_file *file, char why[CO_TRACE_WHY_MAX])
{
    size_t got = sizeof file->header;
    const uint8_t *bytes = co_trace_source_get(&file->source, 0, &got, (uint8_t *)&file->header);
    if (bytes != (uint8_t *)&file->header) {
        memcpy(&file->header, bytes, got);
    }
    const char *fault = judge(&file->header, got);
    if (fault != NULL) {
        return refuse(file, why, -EINVAL, fault);
    }
    file->header.host[sizeof file->header.host - 1] = '\0';
    file->header.library[sizeof file->header.library - 1] = '\0';
    file->header.program[sizeof file->header.program - 1] = '\0';
    int error = find_blocks(file);
    error = error != 0 ? error : open_cursors(file);
    if (error != 0) {
        return refuse(file, why, error, "there is no memory for its index");
    }
    for (size_t i = 0; i < file->cursor_count; i++) {
        advance(file, &file->cursors[i]);
    }
    return 0;
}

int co_trace_file_open(struct co_trace_file *file, const char *path, char why[CO_TRACE_WHY_MAX])
{
    memset(file, 0, sizeof *file);
    int error = co_trace_source_open(&file->source, path);
    if (error != 0) {
        return refuse(file, why, error, error == -EINVAL ? "it is no file" : strerror(-error));
    }
    return open_source(file, why);
}

int co_trace_file_open_bytes(struct co_trace_file *file, const uint8_t *bytes, size_t size, char why[CO_TRACE_WHY_MAX])
{
    memset(file, 0, sizeof *file);
    co_trace_source_open_bytes(&file->source, bytes, size);
    return open_source(file, why);
}

void co_trace_file_close(struct co_trace_file *file)
{
    for (size_t i = 0; i < file->cursor_count; i++) {
        free(file->cursors[i].rows);
        free(file->cursors[i].room);
    }
    co_trace_source_close(&file->source);
    free(file->cursors);
    free(file->places);
    file->cursors = NULL;
    file->places = NULL;
    file->cursor_count = file->place_count = 0;
}

static uint64_t place_in_time(const struct co_trace_record *record)
{
    bool completes = co_trace_row(record->kind)->family == CO_TRACE_FAMILY_COMPLETION;
    return completes ? record->begin_ns : record->end_ns;
}

const struct co_trace_record *co_trace_file_next(struct co_trace_file *file)
{
    struct co_trace_cursor *first = NULL;
    // The record that was given last is still in its cursor.
    for (size_t i = 0; i < file->cursor_count; i++) {
        if (file->cursors[i].is_given) {
            advance(file, &file->cursors[i]);
            file->cursors[i].is_given = false;
        }
    }
    for (size_t i = 0; i < file->cursor_count; i++) {
        struct co_trace_cursor *cursor = &file->cursors[i];
        if (cursor->has_record && (first == NULL || place_in_time(&cursor->record) < place_in_time(&first->record))) {
            first = cursor;
        }
    }
    if (first == NULL) {
        return NULL;
    }
    first->is_given = true;
    return &first->record;
}
