// SPDX-License-Identifier: BSD-3-Clause
//
// Which format a file has is told by its first bytes.
#include "tools/trace/read/reader.h"

#include <errno.h>
#include <string.h>

const char *const co_reader_format_names[CO_FORMATS] = {"none", "DUMPI", "DUMPI text", "castoff"};

enum co_reader_format co_reader_sniff(const uint8_t *bytes, size_t size)
{
    return co_dumpi_begins(bytes, size)        ? CO_FORMAT_DUMPI
           : co_own_trace_begins(bytes, size)  ? CO_FORMAT_OWN
           : co_dumpi_text_begins(bytes, size) ? CO_FORMAT_DUMPI_TEXT
                                               : CO_FORMAT_NONE;
}

static const char *say_why_not(const uint8_t *bytes, size_t size)
{
    static const uint8_t little_endian[] = {0x49, 0x50, 0x4d, 0x55, 0x44, 0xdd, 0xaa, 0xff};
    if (size == 0) {
        return "it is empty";
    }
    if (size >= sizeof little_endian && memcmp(bytes, little_endian, sizeof little_endian) == 0) {
        return "its bytes stand in the other order than DUMPI's";
    }
    if (size < 16) {
        return "it is too short for a trace";
    }
    return "it does not begin like a trace of DUMPI, a text of dumpi2ascii or a recording of castoff";
}

// `path`: NULL where all is in the window.
static int open_window(struct co_reader *reader, struct co_window window, const char *path)
{
    (void)co_window_has(&window, 256);
    const uint8_t *bytes = window.bytes + window.at;
    size_t size = window.end - window.at;
    reader->format = co_reader_sniff(bytes, size);
    switch (reader->format) {
    case CO_FORMAT_DUMPI:
        co_dumpi_open(&reader->dumpi, window, &reader->note);
        return 0;
    case CO_FORMAT_DUMPI_TEXT:
        co_dumpi_text_open(&reader->text, window);
        return 0;
    case CO_FORMAT_OWN: // has blocks in any order, and reads the file itself
        co_window_close(&window);
        return path != NULL ? co_own_trace_open(&reader->own, path, &reader->note)
                            : co_own_trace_open_bytes(&reader->own, bytes, size, &reader->note);
    default:
        co_note_add(&reader->note, 0, "%s", say_why_not(bytes, size));
        co_window_close(&window);
        return -EINVAL;
    }
}

int co_reader_open(struct co_reader *reader, const char *path)
{
    struct co_window window;
    memset(reader, 0, sizeof *reader);
    int error = co_window_open(&window, path);
    error = error != 0 ? error : open_window(reader, window, path);
    if (error != 0) {
        co_note_add(&reader->note, 0, "%s", error == -EINVAL ? "it is no file" : strerror(-error));
        reader->format = CO_FORMAT_NONE;
    }
    return error;
}

int co_reader_open_bytes(struct co_reader *reader, const uint8_t *bytes, size_t size)
{
    struct co_window window;
    memset(reader, 0, sizeof *reader);
    co_window_open_bytes(&window, bytes, size);
    int error = open_window(reader, window, NULL);
    reader->format = error != 0 ? CO_FORMAT_NONE : reader->format;
    return error;
}

void co_reader_close(struct co_reader *reader)
{
    switch (reader->format) {
    case CO_FORMAT_DUMPI:
        co_dumpi_close(&reader->dumpi);
        break;
    case CO_FORMAT_DUMPI_TEXT:
        co_dumpi_text_close(&reader->text);
        break;
    case CO_FORMAT_OWN:
        co_own_trace_close(&reader->own);
        break;
    default:
        break;
    }
    reader->format = CO_FORMAT_NONE;
}

bool co_reader_next(struct co_reader *reader, struct co_traced_call *call)
{
    switch (reader->format) {
    case CO_FORMAT_DUMPI:
        return co_dumpi_next(&reader->dumpi, call, &reader->note);
    case CO_FORMAT_DUMPI_TEXT:
        return co_dumpi_text_next(&reader->text, call, &reader->note);
    case CO_FORMAT_OWN:
        return co_own_trace_next(&reader->own, call, &reader->note);
    default:
        return false;
    }
}
