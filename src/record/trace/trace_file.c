// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the blocks of a trace, sorts them by stream, and merges the streams by a heap. Each that has begun has a block
// in memory.
#include "record/trace/trace_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "its threads that live at a time need more memory than there is for them";

#define EARLIER_NS UINT64_C(1000000000) // than its first block a stream is begun: a call is entered before it has one

static void note(struct co_trace_file *file, uint64_t offset, const char *what)
{
    if (file->damages++ == 0) {
        file->damage_offset = offset;
        file->damage = what;
    }
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
    file->places[file->place_count++] = (struct co_trace_place){block->sequence, offset, block->base_ns, block->stream};
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

static bool is_first_of_stream(const struct co_trace_file *file, size_t place)
{
    return place == 0 || file->places[place].stream != file->places[place - 1].stream;
}

static bool is_before(const struct co_trace_read_stream *left, const struct co_trace_read_stream *right)
{
    return left->due_ns != right->due_ns ? left->due_ns < right->due_ns : left < right;
}

static void sift_down(struct co_trace_file *file, size_t at)
{
    struct co_trace_read_stream *moved = file->heap[at];
    for (size_t child; (child = 2 * at + 1) < file->heap_count; at = child) {
        child += child + 1 < file->heap_count && is_before(file->heap[child + 1], file->heap[child]);
        if (!is_before(file->heap[child], moved)) {
            break;
        }
        file->heap[at] = file->heap[child];
    }
    file->heap[at] = moved;
}

static int open_streams(struct co_trace_file *file)
{
    size_t streams = 0;
    for (size_t i = 0; i < file->place_count; i++) {
        streams += is_first_of_stream(file, i);
    }
    file->streams = calloc(streams + 1, sizeof *file->streams);
    file->heap = calloc(streams + 1, sizeof(struct co_trace_read_stream *));
    if (file->streams == NULL || file->heap == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < file->place_count; i++) {
        if (is_first_of_stream(file, i)) {
            uint64_t base_ns = file->places[i].base_ns;
            struct co_trace_read_stream *stream = &file->streams[file->stream_count];
            file->heap[file->stream_count++] = stream;
            stream->place = i;
            stream->due_ns = base_ns < EARLIER_NS ? 0 : base_ns - EARLIER_NS;
        }
        file->streams[file->stream_count - 1].end = i + 1;
    }
    file->heap_count = file->stream_count;
    for (size_t i = file->heap_count / 2; i-- > 0;) {
        sift_down(file, i);
    }
    return 0;
}

static struct co_trace_block head_of(const struct co_trace_cursor *cursor)
{
    struct co_trace_block block;
    memcpy(&block, cursor->block, sizeof block);
    return block;
}

// `memory` made larger, or NULL: blocks and rows of all streams together may not take more than any program needs, for
// a file of some KiB can say that it has blocks of 64 MiB, and a thread's record has rows of 8 KiB in 800 bytes.
static void *grow(struct co_trace_file *file, void *memory, size_t had, size_t bytes)
{
    bool is_allowed = bytes - had <= CO_TRACE_LIVE_BYTES_MAX - file->live_bytes;
    void *larger = is_allowed ? realloc(memory, bytes) : NULL;
    file->live_bytes += larger == NULL ? 0 : bytes - had;
    return larger;
}

// False: it cannot be read.
static bool enter_block(struct co_trace_file *file, struct co_trace_cursor *cursor)
{
    uint64_t offset = file->places[cursor->place].offset;
    size_t whole = file->header.block_bytes, room = whole - sizeof(struct co_trace_block);
    if (cursor->room == NULL && file->source.bytes == NULL && (cursor->room = grow(file, NULL, 0, whole)) == NULL) {
        note(file, offset, no_memory);
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

// The next record, of the bytes up to `end`; its rows, most have none, in memory of the stream's.
static long decode(struct co_trace_file *file, struct co_trace_cursor *cursor, size_t end)
{
    struct co_trace_record *record = &cursor->record;
    long bytes = co_trace_decode(record, &cursor->state, file->rows, cursor->block + cursor->at, end - cursor->at);
    size_t count = bytes > 0 ? record->row_count : 0;
    if (count > cursor->row_room) {
        size_t each = sizeof *cursor->rows;
        void *larger = grow(file, cursor->rows, cursor->row_room * each, count * each);
        if (larger == NULL) {
            note(file, file->places[cursor->place].offset + cursor->at, no_memory);
            return -ENOMEM;
        }
        cursor->rows = larger;
        cursor->row_room = count;
    }
    if (count > 0) {
        memcpy(cursor->rows, file->rows, count * sizeof *cursor->rows);
    }
    record->rows = cursor->rows;
    return bytes;
}

// The look in vain that was still going on, and the call that was not over. True: a record.
static bool take_open_end(struct co_trace_file *file, struct co_trace_cursor *cursor)
{
    struct co_trace_block block = head_of(cursor);
    struct co_trace_record *record = &cursor->record;
    if (cursor->at == cursor->limit && block.repeats_at == block.used + 1 && block.repeats > 0 &&
        decode(file, cursor, cursor->size) > 0) {
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
    record->text = "";
    return true;
}

// A block that is not whole ends early; the next one of the stream can be read without it.
static bool take_record(struct co_trace_file *file, struct co_trace_cursor *cursor)
{
    if (cursor->at < cursor->limit) {
        cursor->record.is_unfinished = 0;
        long bytes = decode(file, cursor, cursor->limit);
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
    const char *fault = co_trace_header_fault(&file->header, got);
    if (fault != NULL) {
        return refuse(file, why, -EINVAL, fault);
    }
    file->header.host[sizeof file->header.host - 1] = '\0';
    file->header.library[sizeof file->header.library - 1] = '\0';
    file->header.program[sizeof file->header.program - 1] = '\0';
    int error = find_blocks(file);
    error = error != 0 ? error : open_streams(file);
    if (error != 0) {
        return refuse(file, why, error, "there is no memory for its index");
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

static void end_stream(struct co_trace_file *file, struct co_trace_read_stream *stream)
{
    if (stream->cursor != NULL) {
        file->live_bytes -= stream->cursor->row_room * sizeof *stream->cursor->rows;
        file->live_bytes -= stream->cursor->room != NULL ? file->header.block_bytes : 0;
        free(stream->cursor->rows);
        free(stream->cursor->room);
        free(stream->cursor);
        stream->cursor = NULL;
        file->live--;
    }
}

void co_trace_file_close(struct co_trace_file *file)
{
    for (size_t i = 0; i < file->stream_count; i++) {
        end_stream(file, &file->streams[i]);
    }
    co_trace_source_close(&file->source);
    free(file->streams);
    free(file->heap);
    free(file->places);
    file->streams = NULL;
    file->heap = NULL;
    file->places = NULL;
    file->stream_count = file->heap_count = file->place_count = 0;
}

static uint64_t place_in_time(const struct co_trace_record *record)
{
    bool completes = co_trace_row(record->kind)->family == CO_TRACE_FAMILY_COMPLETION;
    return completes ? record->begin_ns : record->end_ns;
}

// False: it cannot be read.
static bool begin(struct co_trace_file *file, struct co_trace_read_stream *stream)
{
    uint64_t offset = file->places[stream->place].offset;
    if (file->live == CO_TRACE_LIVE_MAX) {
        note(file, offset, "more threads live at a time than a trace can have");
        return false;
    }
    stream->cursor = calloc(1, sizeof *stream->cursor);
    if (stream->cursor == NULL) {
        note(file, offset, no_memory);
        return false;
    }
    stream->cursor->place = stream->place;
    stream->cursor->end = stream->end;
    file->live++;
    return true;
}

// The first stream goes to its next record, and to where that places it.
static void advance_first(struct co_trace_file *file)
{
    struct co_trace_read_stream *stream = file->heap[0];
    if (stream->cursor != NULL || begin(file, stream)) {
        advance(file, stream->cursor);
    }
    if (stream->cursor != NULL && stream->cursor->has_record) {
        stream->due_ns = place_in_time(&stream->cursor->record);
    } else {
        end_stream(file, stream);
        file->heap[0] = file->heap[--file->heap_count];
    }
    if (file->heap_count > 0) {
        sift_down(file, 0);
    }
}

const struct co_trace_record *co_trace_file_next(struct co_trace_file *file)
{
    while (file->heap_count > 0 && (file->is_first_given || file->heap[0]->cursor == NULL)) {
        file->is_first_given = false; // until here its record was in its cursor
        advance_first(file);
    }
    file->is_first_given = file->heap_count > 0;
    return file->is_first_given ? &file->heap[0]->cursor->record : NULL;
}
