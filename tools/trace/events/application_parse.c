// SPDX-License-Identifier: BSD-3-Clause
//
// One rank's trace to its events. The file of events appears under its name when it is whole.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/trace/events/application.h"
#include "tools/trace/read/reader.h"
#include "tools/trace/events/tracker.h"

static int identify(const char *path, uint64_t *bytes, uint64_t *changed_ns)
{
    struct stat state;
    if (stat(path, &state) != 0) {
        return -errno;
    }
    *bytes = (uint64_t)state.st_size;
    *changed_ns = (uint64_t)state.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)state.st_mtim.tv_nsec;
    return 0;
}

// Where the call stands that was read last.
static uint64_t place_of(const struct co_reader *reader)
{
    return reader->format == CO_FORMAT_DUMPI ? reader->dumpi.record_at : co_window_offset(&reader->text.window);
}

static void tell_origin(const struct co_reader *reader, struct co_event_head *head)
{
    const uint8_t *version = reader->dumpi.version;
    if (reader->format == CO_FORMAT_OWN) {
        head->rank = (int32_t)reader->own.file.header.rank;
        head->size = (int32_t)reader->own.file.header.size;
        head->job = reader->own.file.header.job;
    } else if (reader->format == CO_FORMAT_DUMPI) {
        head->trace_version = (uint32_t)version[0] << 16 | (uint32_t)version[1] << 8 | version[2];
    }
}

static void read_calls(struct co_reader *reader, struct co_event_writer *writer)
{
    struct co_tracker tracker;
    struct co_traced_call call;
    struct co_event_head *head = &writer->head;
    co_tracker_open(&tracker, writer);
    uint64_t returned_ns = 0;
    while (co_reader_next(reader, &call)) {
        // Castoff's own are sorted, by more than that.
        if (reader->format != CO_FORMAT_OWN && call.end_ns != 0 && call.end_ns < returned_ns) {
            co_note_add(&reader->note, place_of(reader), "this call returned before the one in front of it");
        }
        returned_ns = call.end_ns;
        co_tracker_add(&tracker, &call);
    }
    if (tracker.is_out_of_memory) {
        co_note_add(&reader->note, 0, "there was no memory for all of its requests");
    }
    tell_origin(reader, head);
    if (!tracker.has_ended && reader->note.count == 0) {
        co_note_add(&reader->note, head->trace_bytes, "it ends before MPI_Finalize");
    }
    co_tracker_close(&tracker);
    head->is_partial = reader->note.count > 0;
    head->note = reader->note;
    head->format = reader->format;
}

static void tell_unwritten(const struct co_application *application, struct co_application_rank *rank, int error)
{
    rank->head.note.count = 0;
    co_note_add(&rank->head.note, 0, "its events cannot be written: %s: %s/%s", strerror(-error), application->place,
                rank->events);
}

static int parse(const struct co_application *application, struct co_application_rank *rank, const char *events)
{
    struct co_reader reader;
    struct co_event_writer writer;
    uint64_t bytes = 0, changed_ns = 0;
    int error = identify(rank->trace, &bytes, &changed_ns);
    if (error == 0) {
        error = co_reader_open(&reader, rank->trace);
        rank->head.note = reader.note;
    } else {
        co_note_add(&rank->head.note, 0, "%s", strerror(-error));
    }
    if (error != 0) {
        return error;
    }
    error = co_event_writer_open(&writer, application->directory, events);
    if (error == 0) {
        writer.head.trace_bytes = bytes;
        writer.head.trace_changed_ns = changed_ns;
        read_calls(&reader, &writer);
        error = co_event_writer_close(&writer, events);
        rank->head = writer.head;
    }
    if (error != 0) {
        tell_unwritten(application, rank, error);
    }
    co_reader_close(&reader);
    return error;
}

static bool is_cached(const struct co_application *application, struct co_application_rank *rank)
{
    uint64_t bytes = 0, changed_ns = 0;
    return co_event_head_read(application->directory, rank->events, &rank->head) &&
           identify(rank->trace, &bytes, &changed_ns) == 0 && rank->head.trace_bytes == bytes &&
           rank->head.trace_changed_ns == changed_ns;
}

void co_application_parse(const struct co_application *application, struct co_application_rank *rank)
{
    size_t room = strlen(rank->events) + 32;
    char *fresh = malloc(room);
    rank->is_from_cache = !application->is_scratch && is_cached(application, rank);
    rank->is_there = rank->is_from_cache;
    if (!rank->is_there && fresh != NULL) {
        rank->head = (struct co_event_head){.rank = -1};
        snprintf(fresh, room, "%s.%ld", rank->events, (long)getpid());
        (void)unlinkat(application->directory, fresh, 0); // of a process that had our number, and was killed
        rank->error = parse(application, rank, fresh);
        if (rank->error == 0 && renameat(application->directory, fresh, application->directory, rank->events) != 0) {
            rank->error = -errno;
            tell_unwritten(application, rank, rank->error);
            unlinkat(application->directory, fresh, 0);
        }
        rank->is_there = rank->error == 0;
    }
    free(fresh);
}
