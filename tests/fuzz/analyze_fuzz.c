// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a rank's trace in one of the analyzer's formats: refused with a reason, or calls that end, which become
// events.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/trace/read/reader.h"
#include "tools/trace/events/tracker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct co_reader reader;
    struct co_traced_call call;
    size_t calls = 0;
    uint8_t *copy = malloc(bytes ? bytes : 1); // exactly as long, so that reading on is seen

    memcpy(copy, data, bytes);
    if (co_reader_open_bytes(&reader, copy, bytes) != 0) {
        if (reader.note.count == 0 || reader.note.why[0] == '\0') {
            abort();
        }
        free(copy);
        return 0;
    }
    struct co_event_writer writer;
    struct co_tracker tracker;
    char name[64];
    snprintf(name, sizeof name, "/tmp/castoff-fuzz.%ld.events", (long)getpid());
    if (co_event_writer_open(&writer, AT_FDCWD, name) != 0 || unlink(name) != 0) {
        abort();
    }
    co_tracker_open(&tracker, &writer);
    while (co_reader_next(&reader, &call)) {
        co_tracker_add(&tracker, &call);
        if (++calls > bytes || call.id >= CO_CALL_COUNT) {
            abort();
        }
    }
    co_tracker_close(&tracker);
    free(writer.buffer);
    close(writer.file);
    co_reader_close(&reader);
    free(copy);
    return 0;
}
