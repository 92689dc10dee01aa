// SPDX-License-Identifier: BSD-3-Clause
//
// DUMPI's binary traces (SST simulator), one file for each rank: 8 bytes of magic; the body, which begins with what is
// added to the seconds of all times and holds a record for each call in the order in which they returned; its end; a
// header (version, host); a footer (how many calls of each function there were); sizes of types; and, as the last 64
// bytes, an index of all these. Numbers are big-endian. A record is a function's number, what it carries, the thread,
// times, and the function's arguments, which depend on the function and the version. One thread. Hot.
#ifndef CASTOFF_TOOLS_TRACE_READ_DUMPI_FILE_H
#define CASTOFF_TOOLS_TRACE_READ_DUMPI_FILE_H

#include "tools/trace/read/call.h"
#include "tools/trace/read/note.h"
#include "tools/trace/read/window.h"

#define CO_DUMPI_MAGIC UINT64_C(0xffaadd44554d5049)

enum { CO_DUMPI_TYPES_MAX = 4096, CO_DUMPI_NESTED_MAX = 1 << 20 };

struct co_dumpi {
    struct co_window window;
    uint8_t version[3];
    uint16_t end_label; // behind the last record
    uint32_t cpu_seconds, wall_seconds;
    uint64_t body, footer, footer_end; // 0: not there
    uint32_t type_count;
    int32_t *type_bytes;
    bool is_over;
    uint64_t counts[CO_CALL_DUMPI_COUNT];
    // Of the record that was read last.
    uint64_t record_at;
    uint64_t *requests;
    int32_t *indices, *numbers;
    struct co_call_status *statuses;
    uint32_t requests_room, indices_room, numbers_room, statuses_room;
};

// Whether these bytes begin such a file.
bool co_dumpi_begins(const uint8_t *bytes, size_t size);

// `window` is at the file's begin, and is the file's from here on. Nothing fails: what is wrong is noted.
void co_dumpi_open(struct co_dumpi *dumpi, struct co_window window, struct co_note *note);
void co_dumpi_close(struct co_dumpi *dumpi);

// False: that was all, or all that can be read.
bool co_dumpi_next(struct co_dumpi *dumpi, struct co_traced_call *call, struct co_note *note);

// dumpi_record.c: the arguments of a call whose id is set. False, and noted.
bool co_dumpi_read_arguments(struct co_dumpi *dumpi, struct co_traced_call *call, uint8_t mask, struct co_note *note);

bool co_dumpi_has_version(const struct co_dumpi *dumpi, int major, int minor, int patch);

// Big-endian numbers that are known to be in sight.
static inline uint16_t co_dumpi_take16(struct co_window *window)
{
    const uint8_t *bytes = window->bytes + window->at;
    window->at += 2;
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t co_dumpi_take32(struct co_window *window)
{
    const uint8_t *bytes = window->bytes + window->at;
    window->at += 4;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline uint64_t co_dumpi_take64(struct co_window *window)
{
    uint64_t high = co_dumpi_take32(window);
    return high << 32 | co_dumpi_take32(window);
}

#endif
