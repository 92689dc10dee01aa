// SPDX-License-Identifier: BSD-3-Clause
//
// Reads with pread, which needs no place in the file.
#include "record/trace/trace_source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int co_trace_source_open_regular(const char *path, uint64_t *size)
{
    struct stat state;
    // A pipe that nobody writes would be waited for.
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return -errno;
    }
    int error = fstat(file, &state) != 0  ? -errno
                : S_ISDIR(state.st_mode)  ? -EISDIR
                : !S_ISREG(state.st_mode) ? -EINVAL
                                          : 0;
    if (error != 0) {
        close(file);
        return error;
    }
    *size = (uint64_t)state.st_size;
    return file;
}

int co_trace_source_open(struct co_trace_source *source, const char *path)
{
    *source = (struct co_trace_source){.file = -1};
    int file = co_trace_source_open_regular(path, &source->size);
    if (file < 0) {
        return file;
    }
    source->file = file;
    return 0;
}

void co_trace_source_open_bytes(struct co_trace_source *source, const uint8_t *bytes, size_t size)
{
    static const uint8_t none[1];
    *source = (struct co_trace_source){.bytes = bytes == NULL ? none : bytes, .size = size, .file = -1};
}

void co_trace_source_close(struct co_trace_source *source)
{
    if (source->file >= 0) {
        close(source->file);
    }
    source->file = -1;
}

static size_t read_file(int file, uint64_t offset, size_t bytes, uint8_t *room)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(file, room + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    return done;
}

const uint8_t *co_trace_source_get(const struct co_trace_source *source, uint64_t offset, size_t *bytes, uint8_t *room)
{
    uint64_t left = offset < source->size ? source->size - offset : 0;
    *bytes = *bytes < left ? *bytes : (size_t)left;
    if (source->bytes != NULL) {
        return source->bytes + (*bytes > 0 ? offset : 0);
    }
    *bytes = read_file(source->file, offset, *bytes, room);
    return room;
}
