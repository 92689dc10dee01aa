// SPDX-License-Identifier: BSD-3-Clause
//
// The window is a buffer that what has been read leaves at the front. It grows only for what is longer than it is.
#include "tools/trace/read/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/trace/trace_source.h"

int co_window_open(struct co_window *window, const char *path)
{
    uint64_t size = 0;
    int file = co_trace_source_open_regular(path, &size);
    if (file < 0) {
        return file;
    }
    *window = (struct co_window){.size = size, .file = file, .room = CO_WINDOW_BYTES};
    window->memory = malloc(window->room);
    if (window->memory == NULL) {
        close(file);
        return -ENOMEM;
    }
    window->bytes = window->memory;
    return 0;
}

void co_window_open_bytes(struct co_window *window, const uint8_t *bytes, size_t size)
{
    *window = (struct co_window){.bytes = bytes, .end = size, .size = size, .file = -1};
}

void co_window_close(struct co_window *window)
{
    free(window->memory);
    if (window->file >= 0) {
        close(window->file);
    }
    *window = (struct co_window){.file = -1};
}

static bool make_room(struct co_window *window, size_t bytes)
{
    if (bytes <= window->room) {
        return true;
    }
    size_t room = window->room;
    while (room < bytes && room < CO_WINDOW_BYTES_MAX) {
        room *= 2;
    }
    uint8_t *memory = room < bytes ? NULL : realloc(window->memory, room);
    if (memory == NULL) {
        window->error = -EFBIG;
        return false;
    }
    window->bytes = window->memory = memory;
    window->room = room;
    return true;
}

bool co_window_more(struct co_window *window, size_t bytes)
{
    if (window->memory == NULL || window->error != 0) {
        return false;
    }
    uint64_t left = window->size - co_window_offset(window);
    size_t wanted = bytes < left ? bytes : (size_t)left;
    memmove(window->memory, window->memory + window->at, window->end - window->at);
    window->begin += window->at;
    window->end -= window->at;
    window->at = 0;
    if (!make_room(window, wanted)) {
        return false;
    }
    while (window->end < wanted) {
        ssize_t got = pread(window->file, window->memory + window->end, window->room - window->end,
                            (off_t)(window->begin + window->end));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            window->error = got < 0 ? -errno : 0;
            return false;
        }
        window->end += (size_t)got;
    }
    return window->end >= bytes;
}

bool co_window_seek(struct co_window *window, uint64_t offset)
{
    if (offset > window->size) {
        return false;
    }
    if (window->memory == NULL || (offset >= window->begin && offset <= window->begin + window->end)) {
        window->at = (size_t)(offset - window->begin);
        return true;
    }
    window->begin = offset;
    window->at = window->end = 0;
    return true;
}
