// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks of a file, one after the other, to streams. A record counts from the moment in which the block's head says so:
// a process that is killed leaves whole records only.
#include "record/trace/trace_writer.h"

#include "base/log.h"
#include "record/trace/trace_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint8_t *records_of(const struct co_trace_stream *stream)
{
    return (uint8_t *)(stream->block + 1);
}

enum { ROOM = CO_TRACE_BLOCK_BYTES - sizeof(struct co_trace_block) };

// Names of traces can be told beforehand, and the folder may be one that others write to: a link that they left there
// is not followed, a file of theirs or with a second name not written over, but what has the name loses it, or nothing
// is recorded. Nor is an earlier trace cut off, which somebody may have mapped.
static int open_new(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) {
        return -errno;
    }
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return file < 0 ? -errno : file;
}

int co_trace_writer_open(struct co_trace_writer *writer, const char *path, const struct co_trace_header *header)
{
    void *page;
    memset(writer, 0, sizeof *writer);
    writer->file = open_new(path);
    if (writer->file < 0) {
        return writer->file;
    }
    int error = co_trace_pages_map(writer->file, 0, CO_TRACE_HEADER_BYTES, &page);
    if (error != 0) {
        close(writer->file);
        unlink(path);
        return error;
    }
    writer->header = page;
    *writer->header = *header;
    memcpy(writer->header->magic, CO_TRACE_MAGIC, sizeof writer->header->magic);
    writer->header->byte_order = CO_TRACE_BYTE_ORDER;
    writer->header->version = CO_TRACE_VERSION;
    writer->header->header_bytes = CO_TRACE_HEADER_BYTES;
    writer->header->block_bytes = CO_TRACE_BLOCK_BYTES;
    writer->header->end = CO_TRACE_OPEN;
    pthread_mutex_init(&writer->lock, NULL);
    co_store_relaxed(&writer->is_open, true);
    return 0;
}

// Once, whoever is first.
static void stop(struct co_trace_writer *writer, int error)
{
    bool was_open = atomic_exchange_explicit(&writer->is_open, false, memory_order_relaxed); // only who is first
    if (was_open) {
        writer->header->end = CO_TRACE_STOPPED;
        co_log(CO_LOG_ERROR, CO_SUBSYS_PMPI,
               "recording stops here, the program goes on: %s; what was recorded so far is kept", strerror(-error));
    }
}

static bool next_block(struct co_trace_stream *stream, uint64_t now_ns)
{
    struct co_trace_writer *writer = stream->writer;
    uint32_t index = co_add_relaxed(&writer->blocks, 1); // relaxed: a number
    uint32_t inside = stream->block == NULL ? CO_TRACE_NOTHING : stream->block->inside;
    void *pages;
    int error = co_trace_pages_map(writer->file, CO_TRACE_HEADER_BYTES + (uint64_t)index * CO_TRACE_BLOCK_BYTES,
                                   CO_TRACE_BLOCK_BYTES, &pages);
    if (error != 0) {
        stop(writer, error);
        return false;
    }
    struct co_trace_block *block = pages;
    block->stream = stream->number;
    block->sequence = stream->sequence++;
    block->base_ns = now_ns;
    block->inside = inside;
    block->inside_since_ns = stream->block == NULL ? now_ns : stream->block->inside_since_ns;
    // A block whose head is not whole is none to a reader.
    atomic_signal_fence(memory_order_release);
    block->magic = CO_TRACE_BLOCK_MAGIC;
    if (stream->block != NULL) {
        co_trace_pages_unmap(stream->block, CO_TRACE_BLOCK_BYTES);
    }
    stream->block = block;
    stream->block_index = index;
    stream->used = 0;
    stream->state = (struct co_trace_state){.time_ns = now_ns};
    return true;
}

static struct co_trace_stream *make_stream(struct co_trace_writer *writer, uint64_t now_ns)
{
    struct co_trace_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return NULL;
    }
    stream->writer = writer;
    stream->number = writer->stream_count;
    if (!next_block(stream, now_ns)) {
        free(stream);
        return NULL;
    }
    writer->stream_count++;
    stream->next = writer->streams;
    writer->streams = stream;
    return stream;
}

struct co_trace_stream *co_trace_stream_take(struct co_trace_writer *writer, uint64_t now_ns)
{
    struct co_trace_stream *stream = NULL;
    pthread_mutex_lock(&writer->lock);
    if (writer->idle != NULL) {
        stream = writer->idle;
        writer->idle = stream->next_idle;
    } else if (co_trace_writer_is_open(writer)) {
        stream = make_stream(writer, now_ns);
    }
    pthread_mutex_unlock(&writer->lock);
    return stream;
}

void co_trace_stream_give(struct co_trace_stream *stream)
{
    struct co_trace_writer *writer = stream->writer;
    pthread_mutex_lock(&writer->lock);
    stream->next_idle = writer->idle;
    writer->idle = stream;
    pthread_mutex_unlock(&writer->lock);
}

static void commit(struct co_trace_stream *stream, size_t bytes)
{
    stream->used += (uint32_t)bytes;
    // All of the record's bytes first: what a kill leaves is what the processor has done.
    atomic_signal_fence(memory_order_release);
    *(volatile uint32_t *)&stream->block->used = stream->used;
}

static void append(struct co_trace_stream *stream, const struct co_trace_record *record)
{
    size_t bytes = co_trace_encode(record, &stream->state, records_of(stream) + stream->used, ROOM - stream->used);
    if (bytes == 0 && next_block(stream, record->begin_ns)) {
        bytes = co_trace_encode(record, &stream->state, records_of(stream), ROOM);
    }
    if (bytes > 0) {
        commit(stream, bytes);
    }
}

static bool is_same(const struct co_trace_record *vain, const struct co_trace_record *record)
{
    size_t count = co_trace_row(record->kind)->asked_count;
    return vain->times != 0 && vain->kind == record->kind && vain->flags == record->flags &&
           memcmp(vain->value, record->value, count * sizeof record->value[0]) == 0;
}

// What a reader finds behind the last record. The room for it is kept for when it becomes one.
static void begin_vain(struct co_trace_stream *stream, const struct co_trace_record *record)
{
    stream->vain = *record;
    stream->vain.times = 1;
    struct co_trace_state state = stream->state;
    size_t bytes = co_trace_encode(&stream->vain, &state, records_of(stream) + stream->used, ROOM - stream->used);
    if (bytes == 0) {
        if (!next_block(stream, record->begin_ns)) {
            stream->vain.times = 0;
            return;
        }
        state = stream->state;
        co_trace_encode(&stream->vain, &state, records_of(stream), ROOM);
    }
    stream->block->repeats = 1;
    stream->block->repeats_end_ns = record->end_ns;
    atomic_signal_fence(memory_order_release);
    stream->block->repeats_at = stream->used + 1;
}

static void end_vain(struct co_trace_stream *stream)
{
    // Its bytes are written anew: a kill half-way must not leave a mixture.
    *(volatile uint32_t *)&stream->block->repeats_at = 0;
    atomic_signal_fence(memory_order_seq_cst); // of the compiler: nothing moves across
    append(stream, &stream->vain);
    stream->vain.times = 0;
}

void co_trace_stream_put(struct co_trace_stream *stream, const struct co_trace_record *record)
{
    if (!co_trace_writer_is_open(stream->writer)) {
        return;
    }
    bool is_vain = (record->flags & CO_TRACE_IN_VAIN) != 0;
    if (is_vain && is_same(&stream->vain, record)) {
        stream->vain.end_ns = record->end_ns;
        stream->block->repeats_end_ns = record->end_ns;
        stream->block->repeats = ++stream->vain.times;
        return;
    }
    if (stream->vain.times != 0) {
        end_vain(stream);
    }
    if (is_vain) {
        begin_vain(stream, record);
    } else {
        append(stream, record);
    }
}

// The last block of the file ends where its records do.
static void cut(struct co_trace_writer *writer)
{
    uint32_t blocks = co_load_relaxed(&writer->blocks); // relaxed: the last record is written
    for (struct co_trace_stream *stream = writer->streams; stream != NULL; stream = stream->next) {
        if (stream->block_index + 1 == blocks) {
            uint64_t begin = CO_TRACE_HEADER_BYTES + (uint64_t)stream->block_index * CO_TRACE_BLOCK_BYTES;
            if (ftruncate(writer->file, (off_t)(begin + sizeof *stream->block + stream->used)) != 0) {
                return; // it stays longer than need be
            }
        }
    }
}

void co_trace_writer_close(struct co_trace_writer *writer, enum co_trace_end end)
{
    pthread_mutex_lock(&writer->lock);
    for (struct co_trace_stream *stream = writer->streams; stream != NULL; stream = stream->next) {
        if (stream->vain.times != 0 && co_trace_writer_is_open(writer)) {
            end_vain(stream);
        }
    }
    if (atomic_exchange_explicit(&writer->is_open, false, memory_order_relaxed)) { // relaxed: see is_open
        writer->header->end = end;
        cut(writer);
    }
    pthread_mutex_unlock(&writer->lock);
}

void co_trace_writer_free(struct co_trace_writer *writer)
{
    while (writer->streams != NULL) {
        struct co_trace_stream *stream = writer->streams;
        writer->streams = stream->next;
        co_trace_pages_unmap(stream->block, CO_TRACE_BLOCK_BYTES);
        free(stream);
    }
    co_trace_pages_unmap(writer->header, CO_TRACE_HEADER_BYTES);
    close(writer->file);
    pthread_mutex_destroy(&writer->lock);
}
