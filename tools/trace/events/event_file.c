// SPDX-License-Identifier: BSD-3-Clause
//
// Events to a file and back. Readers open the file anew for each part: thousands of ranks need no descriptors.
#include "tools/trace/events/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITE_EVENTS = 4096, READ_EVENTS = 1024 };

static int write_all(int file, const void *bytes, size_t size, uint64_t offset)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t done = pwrite(file, next, size, (off_t)offset);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return done < 0 ? -errno : -EIO;
        }
        next += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return 0;
}

// -errno, or how many bytes there were.
static ssize_t read_all(int file, void *bytes, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static uint64_t place_of(uint64_t event)
{
    return sizeof(struct co_event_head) + event * sizeof(struct co_event);
}

int co_event_writer_open(struct co_event_writer *writer, int directory, const char *name)
{
    *writer = (struct co_event_writer){.directory = directory, .head = {.rank = -1, .size = -1}};
    writer->buffer = malloc(WRITE_EVENTS * sizeof *writer->buffer);
    if (writer->buffer == NULL) {
        return -ENOMEM;
    }
    writer->file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (writer->file < 0) {
        int error = -errno;
        free(writer->buffer);
        return error;
    }
    return 0;
}

static void flush(struct co_event_writer *writer)
{
    uint64_t first = writer->head.events - writer->buffered;
    if (writer->error == 0) {
        writer->error =
            write_all(writer->file, writer->buffer, writer->buffered * sizeof *writer->buffer, place_of(first));
    }
    writer->buffered = 0;
}

uint64_t co_event_writer_add(struct co_event_writer *writer, const struct co_event *event)
{
    if (writer->buffered == WRITE_EVENTS) {
        flush(writer);
    }
    writer->buffer[writer->buffered++] = *event;
    return writer->head.events++;
}

void co_event_writer_patch(struct co_event_writer *writer, uint64_t position, unsigned op, int32_t source, int32_t tag)
{
    uint64_t first = writer->head.events - writer->buffered;
    if (position >= first) {
        struct co_event *event = &writer->buffer[position - first];
        event->op = (uint8_t)op;
        event->got_source = source;
        event->got_tag = tag;
        return;
    }
    uint8_t byte = (uint8_t)op;
    int32_t got[2] = {source, tag};
    if (writer->error == 0) {
        writer->error = write_all(writer->file, &byte, 1, place_of(position) + offsetof(struct co_event, op));
    }
    if (writer->error == 0) {
        writer->error =
            write_all(writer->file, got, sizeof got, place_of(position) + offsetof(struct co_event, got_source));
    }
}

int co_event_writer_close(struct co_event_writer *writer, const char *name)
{
    struct co_event_head *head = &writer->head;
    flush(writer);
    memcpy(head->magic, CO_EVENT_MAGIC, sizeof head->magic);
    head->byte_order = CO_EVENT_BYTE_ORDER;
    head->version = CO_EVENT_VERSION;
    head->call_count = CO_CALL_COUNT;
    if (writer->error == 0) {
        writer->error = write_all(writer->file, head, sizeof *head, 0);
    }
    if (close(writer->file) != 0 && writer->error == 0) {
        writer->error = -errno;
    }
    free(writer->buffer);
    writer->buffer = NULL;
    if (writer->error != 0) {
        unlinkat(writer->directory, name, 0);
    }
    return writer->error;
}

// A regular file, or negative: somebody may have left a link there, or a pipe, which would be waited for.
static int open_regular(int directory, const char *name, struct stat *state)
{
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 && (fstat(file, state) != 0 || !S_ISREG(state->st_mode))) {
        close(file);
        return -1;
    }
    return file;
}

bool co_event_head_read(int directory, const char *name, struct co_event_head *head)
{
    struct stat state;
    int file = open_regular(directory, name, &state);
    if (file < 0) {
        return false;
    }
    bool is_whole = read_all(file, head, sizeof *head, 0) == (ssize_t)sizeof *head;
    close(file);
    return is_whole && memcmp(head->magic, CO_EVENT_MAGIC, sizeof head->magic) == 0 &&
           head->byte_order == CO_EVENT_BYTE_ORDER && head->version == CO_EVENT_VERSION &&
           head->call_count == CO_CALL_COUNT && head->events <= (uint64_t)state.st_size / sizeof(struct co_event) &&
           place_of(head->events) == (uint64_t)state.st_size && memchr(head->note.why, '\0', CO_NOTE_MAX) != NULL;
}

int co_event_reader_open(struct co_event_reader *reader, int directory, const char *name, uint64_t events)
{
    *reader = (struct co_event_reader){.directory = directory, .name = name, .events = events};
    reader->buffer = malloc(READ_EVENTS * sizeof *reader->buffer);
    return reader->buffer == NULL ? -ENOMEM : 0;
}

void co_event_reader_close(struct co_event_reader *reader)
{
    free(reader->buffer);
    reader->buffer = NULL;
}

// The cache may be any bytes: the first that are no event end it.
static size_t count_sound(const struct co_event *events, size_t count)
{
    size_t sound = 0;
    while (sound < count && events[sound].op < CO_EVENT_OPS && events[sound].call < CO_CALL_COUNT) {
        sound++;
    }
    return sound;
}

// Somebody else may have made the cache anew meanwhile, of a trace that has changed.
static bool is_same(struct co_event_reader *reader, const struct stat *state)
{
    reader->inode = reader->inode == 0 ? (uint64_t)state->st_ino : reader->inode;
    return reader->inode == (uint64_t)state->st_ino;
}

bool co_event_reader_more(struct co_event_reader *reader)
{
    uint64_t left = reader->events - reader->next;
    size_t wanted = left < READ_EVENTS ? (size_t)left : READ_EVENTS;
    reader->at = reader->count = 0;
    if (wanted == 0 || reader->is_damaged) {
        return false;
    }
    struct stat state;
    int file = open_regular(reader->directory, reader->name, &state);
    ssize_t got = file < 0 || !is_same(reader, &state)
                      ? -1
                      : read_all(file, reader->buffer, wanted * sizeof *reader->buffer, place_of(reader->next));
    if (file >= 0) {
        close(file);
    }
    reader->count = got <= 0 ? 0 : count_sound(reader->buffer, (size_t)got / sizeof *reader->buffer);
    reader->is_damaged = reader->count < wanted;
    reader->next += reader->count;
    return reader->count > 0;
}
