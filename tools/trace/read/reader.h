// SPDX-License-Identifier: BSD-3-Clause
//
// One rank's trace, whatever its format, as calls. One thread for each.
#ifndef CASTOFF_TOOLS_TRACE_READ_READER_H
#define CASTOFF_TOOLS_TRACE_READ_READER_H

#include "tools/trace/read/dumpi_file.h"
#include "tools/trace/read/dumpi_text.h"
#include "tools/trace/read/own_trace.h"

enum co_reader_format { CO_FORMAT_NONE, CO_FORMAT_DUMPI, CO_FORMAT_DUMPI_TEXT, CO_FORMAT_OWN, CO_FORMATS };

extern const char *const co_reader_format_names[CO_FORMATS];

struct co_reader {
    enum co_reader_format format;
    union {
        struct co_dumpi dumpi;
        struct co_dumpi_text text;
        struct co_own_trace own;
    };
    struct co_note note; // the first thing that is wrong
};

// By how the file begins. CO_FORMAT_NONE: no trace.
enum co_reader_format co_reader_sniff(const uint8_t *bytes, size_t size);

// 0; or -errno: nothing can be read, and the note says why.
int co_reader_open(struct co_reader *reader, const char *path);
// For tests: the bytes stay the caller's.
int co_reader_open_bytes(struct co_reader *reader, const uint8_t *bytes, size_t size);
void co_reader_close(struct co_reader *reader);
bool co_reader_next(struct co_reader *reader, struct co_traced_call *call);

#endif
